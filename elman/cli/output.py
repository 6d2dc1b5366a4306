"""How commands speak: tables and lines for people, JSON for machines, progress for the patient.

Results go to standard output; progress and notes to standard error, so that every command works in
a pipe.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import Progress

from elman.json_safe import json_safe
from elman.tasks.question import aligned_lines
from elman.training.machine import Machine

if TYPE_CHECKING:
    from elman.training.loop import TrainingProgress

_PATIENCE = 1.0  # seconds before a progress line appears
_PROGRESS_SECONDS = 10.0  # between lines where there is no terminal


def print_json(data: Any) -> None:
    """Data as JSON on standard output."""
    print(json.dumps(json_safe(data), ensure_ascii=False, indent=1, allow_nan=False))


def print_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """An aligned table."""
    for line in aligned_lines(header, rows):
        print(line)


def note(message: str) -> None:
    """Something the user should know, beside the result."""
    tell(f"note: {message}")


def tell(line: str) -> None:
    """A line beside the result; work goes on if nobody can read it, as after a terminal closed."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)


@contextmanager
def _status() -> Iterator[Any]:
    """A live line in a terminal."""
    status = Console(stderr=True).status("starting …")
    status.start()
    try:
        yield status
    finally:
        with suppress(OSError):  # the terminal may have gone
            status.stop()


@contextmanager
def stages() -> Iterator[Callable[[str], None]]:
    """Progress of work in named stages: a live line in a terminal, plain lines elsewhere."""
    with live_line(_PATIENCE) as line:
        yield lambda what: line(f"{what} …")


@contextmanager
def live_line(seconds: float) -> Iterator[Callable[[str], None]]:
    """A line that is rewritten in a terminal; elsewhere a plain line every so many seconds."""
    if sys.stderr.isatty():
        with _status() as status:
            yield status.update
        return
    last = time.monotonic() - seconds + _PATIENCE  # quick work needs no commentary

    def say(line: str) -> None:
        nonlocal last
        if time.monotonic() - last > seconds:
            tell(line)
            last = time.monotonic()

    yield say


def duration(seconds: float) -> str:
    """A length of time as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"


@contextmanager
def counted(what: str) -> Iterator[Callable[[int, int], None]]:
    """Progress of countable work, as (how many more, of how many): a bar in a terminal, a plain
    line now and then elsewhere.
    """
    done = of = 0

    def add(amount: int, total: int) -> int:
        """How many are done of this total; several pieces of work may follow each other."""
        nonlocal done, of
        if done >= of or total != of:
            done, of = 0, total
        done += amount
        return done

    if sys.stderr.isatty():
        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=None)
            yield lambda amount, total: bar.update(task, completed=add(amount, total), total=total)
        return
    last = time.monotonic()

    def say(amount: int, total: int) -> None:
        nonlocal last
        done = add(amount, total)
        if time.monotonic() - last > _PATIENCE:
            tell(f"{what}: {done:,} of {total:,}")
            last = time.monotonic() + _PATIENCE  # the first soon, the others now and then

    yield say


# Progress of trainings ----------------------------------------------------------------------------


@contextmanager
def watched(settings: dict[str, Any]) -> Iterator[tuple[Machine, Callable[[str], None]]]:
    """A machine made of these settings, and a line that shows what it does; of several processes,
    the first one's.
    """
    if settings["processes"].rank:
        yield Machine(**settings), lambda what: None
        return
    told: set[str] = set()

    def note_once(message: str) -> None:
        """Several trainings on one text have the same to say."""
        if message not in told:
            told.add(message)
            note(message)

    with live_line(_PROGRESS_SECONDS) as line:
        machine = Machine(
            **settings,
            watch=lambda progress: line(_progress_line(progress)),
            record=_warn,
            note=note_once,
            warn=note_once,
        )
        yield machine, lambda what: line(f"{what} …")


def _warn(record: dict[str, Any]) -> None:
    """Say what a user should know at once; the rest is in the history."""
    if "diverged_at_step" in record:
        note(
            f"step {record['diverged_at_step']} diverged ({record['problem']}); back to step "
            f"{record['step']} with {record['rate_factor']:g} times the rate"
        )


def _progress_line(progress: TrainingProgress) -> str:
    learned, judged_by = f"perplexity {_figure(progress.perplexity)}", ""
    if progress.judged_by != "perplexity":
        learned, judged_by = f"loss {math.log(progress.perplexity):.4f}", f"{progress.judged_by} "
    validation = ""
    if progress.validation is not None:
        validation = f" · validation {judged_by}{_figure(progress.validation)}"
    return (
        f"epoch {progress.epochs:.2f} of {progress.of_epochs:g} · {learned}{validation} · "
        f"{progress.tokens_per_second:,.0f} tokens/s · {duration(progress.seconds_left)} left"
    )


def _figure(value: float) -> str:
    """With two decimals, or four of a share; a number of many digits in short."""
    if value < 1:
        return f"{value:.4f}"
    return f"{value:.2f}" if value < 1e7 else f"{value:.3g}"
