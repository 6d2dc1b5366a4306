"""How commands speak: tables and lines for people, JSON for machines, progress for the patient.

Results go to standard output; progress and notes to standard error, so that every command works in
a pipe.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from rich.console import Console
from rich.progress import Progress

_NUMBER = re.compile(r"[-+−]?[\d.,]+(e-?\d+)?|[–∞]")
MANY_UNKNOWN = 0.05  # of the words
_PATIENCE = 1.0  # seconds before a progress line appears


def print_json(data: Any) -> None:
    """Data as JSON on standard output."""
    print(json.dumps(plain(data), ensure_ascii=False, indent=1, allow_nan=False))


def plain(data: Any) -> Any:
    """Dataclasses as dicts, and infinite numbers as null, since JSON has none."""
    if dataclasses.is_dataclass(data) and not isinstance(data, type):
        data = {field.name: getattr(data, field.name) for field in dataclasses.fields(data)}
    if isinstance(data, dict):
        return {str(key): plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [plain(item) for item in data]
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data


def note_unknown(unknown: int, words: int, run: str = "") -> None:
    """The share of out-of-vocabulary words, with a warning if it is large."""
    of_run = f" for {run}" if run else ""
    share = f"{unknown:,} of {words:,} words ({unknown / max(words, 1):.1%}) are out of vocabulary"
    if unknown > MANY_UNKNOWN * words:
        note(
            f"WARNING: {share}{of_run}: their surprisal is that of <unk>, not of the word. Do not "
            "analyse them; train on more text, or with --set text.tokenizer=raw-words"
        )
    else:
        note(f"{share}{of_run}" + (": their surprisal is that of <unk>" if unknown else ""))


def print_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """An aligned table; columns of numbers are aligned right."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(len(row[c]) for row in [list(header), *cells]) for c in range(len(header))]
    numeric = [all(_NUMBER.fullmatch(row[c]) for row in cells) for c in range(len(header))]
    for row in [list(header), ["─" * width for width in widths], *cells]:
        aligned = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ]
        print("  ".join(aligned).rstrip())


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return "∞" if math.isinf(value) else f"{value:,.4g}" if abs(value) < 10 else f"{value:,.2f}"
    return str(value)


def note(message: str) -> None:
    """Something the user should know, beside the result."""
    _tell(f"note: {message}")


def _tell(line: str) -> None:
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
            _tell(f"{what} …")
            last = time.monotonic()

    yield say


@contextmanager
def live_line(seconds: float) -> Iterator[Callable[[str], None]]:
    """A line that is rewritten in a terminal; elsewhere a plain line every so many seconds."""
    if sys.stderr.isatty():
        with _status() as status:
            yield status.update
        return
    last = -math.inf

    def say(line: str) -> None:
        nonlocal last
        if time.monotonic() - last > seconds:
            _tell(line)
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
            _tell(f"{what}: {done:,} of {total:,}")
            last = time.monotonic() + _PATIENCE  # the first soon, the others now and then

    yield say
