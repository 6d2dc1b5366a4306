"""How commands speak: tables and lines for people, JSON for machines, progress for the patient.

Results go to standard output; progress and notes to standard error, so that every command works in
a pipe.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from rich.console import Console
from rich.progress import Progress

from elman.json_safe import json_safe
from elman.tasks.table_lines import aligned_lines

_PATIENCE = 1.0  # seconds before a progress line appears


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
    if sys.stderr.isatty():
        with _status() as status:
            yield lambda what: status.update(f"{what} …")
        return
    last = time.monotonic()

    def say(what: str) -> None:
        nonlocal last
        if time.monotonic() - last > _PATIENCE:  # quick work needs no commentary
            tell(f"{what} …")
            last = time.monotonic()

    yield say


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
