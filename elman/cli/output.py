"""Print results: tables and lines for people, JSON for programs, progress for long work.

Results go to standard output. Progress and notes go to standard error, so every command works in a
pipe.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from rich.console import Console
from rich.progress import Progress

from elman.json_safe import json_safe
from elman.tasks.question import aligned_lines
from elman.training.history import criterion
from elman.training.machine import Machine
from elman.training.progress import TrainingProgress, tally

_PATIENCE = 1.0  # seconds before a progress line appears
_PROGRESS_SECONDS = 10.0  # between lines where there is no terminal


def print_json(data: Any) -> None:
    """Print data as JSON to standard output."""
    print(json.dumps(json_safe(data), ensure_ascii=False, indent=1, allow_nan=False))


def print_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print an aligned table."""
    for line in aligned_lines(header, rows):
        print(line)


def note(message: str) -> None:
    """Print a note for the user to standard error."""
    tell(f"note: {message}")


def tell(line: str) -> None:
    """Print a line to standard error; continue if it is closed, as after a terminal is gone."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)


@contextmanager
def _status() -> Iterator[Any]:
    """Show a live line in a terminal."""
    status = Console(stderr=True).status("starting …")
    status.start()
    try:
        yield status
    finally:
        with suppress(OSError):  # the terminal may have gone
            status.stop()


@contextmanager
def stages() -> Iterator[Callable[[str], None]]:
    """Show the progress of named stages: a live line in a terminal, plain lines elsewhere."""
    with live_line(_PATIENCE) as line:
        yield lambda what: line(f"{what} …")


@contextmanager
def live_line(seconds: float) -> Iterator[Callable[[str], None]]:
    """Show a line that is rewritten in a terminal; elsewhere, print it every `seconds` seconds."""
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
    """Format a duration: 45 s, 12 min, 3.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"


@contextmanager
def counted(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show the progress of countable work, given as (newly done, total): a bar in a terminal, a
    plain line now and then elsewhere.
    """
    add = tally()
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
    """Make a machine with these settings and a line that shows its progress; only the first of
    several processes shows it.
    """
    if settings["processes"].rank:
        yield Machine(**settings), lambda what: None
        return
    told: set[str] = set()

    def note_once(message: str) -> None:
        """Print a note once; several trainings on one text give the same notes."""
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
    """Report a divergence at once; the rest is in the history."""
    if "diverged_at_step" in record:
        note(
            f"step {record['diverged_at_step']} diverged ({record['problem']}); continuing from "
            f"step {record['step']} with {record['rate_factor']:g} times the learning rate"
        )


def _progress_line(progress: TrainingProgress) -> str:
    learned, validation = f"perplexity {_figure(progress.perplexity)}", ""
    if progress.judged_by != "perplexity":
        learned = f"loss {math.log(progress.perplexity):.4f}"
    if progress.validation is not None:
        name, value = criterion(progress.judged_by, progress.validation)
        name = "" if name == "perplexity" else f"{name} "
        validation = f" · validation {name}{_figure(value)}"
    speed, left = f"{progress.tokens_per_second:,.0f}", duration(progress.seconds_left)
    return (
        f"epoch {progress.epochs:.2f} of {progress.of_epochs:.4g} · {learned}{validation} · "
        f"{speed} {progress.unit}/s · {left} left"
    )


def _figure(value: float) -> str:
    """Format a number with two decimals, with four below 1, or shortened if it is very large."""
    if value < 1:
        return f"{value:.4f}"
    return f"{value:.2f}" if value < 1e7 else f"{value:.3g}"
