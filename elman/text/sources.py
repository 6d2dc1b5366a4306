"""The running text of one file, in blocks of whole lines: plain text, or a column of a table.

Takes a location and perhaps the name of a column, gives blocks of text; called by `streamed.py`
and `corpora.py`. Rows without text are counted and reported, or refused if `strict`:
rows read = rows used + rows reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from elman.errors import InputError
from elman.text import files, records
from elman.text.reader import Reading

_BLOCK = 1 << 20  # characters


@dataclass(frozen=True)
class Columns:
    """The columns of a table that hold the text, and the time of each row if a split needs it."""

    text: str
    time: str = ""

    def names(self) -> tuple[str, ...]:
        """The columns to read."""
        return (self.text, self.time) if self.time else (self.text,)


@dataclass
class _Problem:
    """How often rows had a problem, and where first."""

    count: int
    first: int


@dataclass
class Source:
    """A file of running text; `form` and `columns` where it is a table."""

    location: str
    form: str | None = None
    columns: Columns | None = None
    strict: bool = False
    alone: bool = True  # if not, it may be empty: other files have the text
    rows: int = 0  # of a table, as last read
    problems: dict[str, _Problem] = field(default_factory=dict)
    _reading: Reading | None = None
    _is_empty: bool = False

    def blocks(self) -> Iterator[str]:
        """The text in blocks of whole lines; the last line may lack its end."""
        if self.columns is None:
            reading = self._new_reading()
            with files.opened(self.location) as stream:
                yield from reading.blocks(stream)
            self._check(reading.has_text)
        else:
            yield from joined(f"{text}\n" for text, _ in self.units())

    def units(self) -> Iterator[tuple[str, Any]]:
        """Lines or texts of rows without their line end, each with its time, if there is one."""
        if self.columns is None:
            for block in self.blocks():
                yield from ((line, None) for line in block.removesuffix("\n").split("\n"))
        else:
            yield from self._rows(self.columns)

    def notes(self) -> list[str]:
        """What was changed and left out, once the file has been read."""
        notes = [] if self._reading is None else self._reading.notes()
        if self._is_empty:
            notes.append(f"{self.location}: contains no text")
        if self.problems:
            reasons = "; ".join(
                f"{problem.count:,} {what} (first: {self._unit} {problem.first:,})"
                for what, problem in self.problems.items()
            )
            used = self.rows - sum(problem.count for problem in self.problems.values())
            notes.append(
                f"{self.location}: {used:,} of {self.rows:,} {self._unit}s are used; {reasons}"
            )
        return notes

    @property
    def _unit(self) -> str:
        return "row" if self.form in records.BINARY else "line"

    def _new_reading(self) -> Reading:
        self._reading = Reading(self.location)
        self.rows, self.problems = 0, {}
        return self._reading

    def _rows(self, columns: Columns) -> Iterator[tuple[str, Any]]:
        form = self.form or records.CSV
        reading, any_text = self._new_reading(), False
        for row in records.read_rows(self.location, form, columns.names(), reading):
            self.rows += 1
            problem = row.problem or _problem(row.values[0], columns.text)
            if problem:
                self._report(problem, row.number)
            else:
                any_text = True
                text = row.values[0].replace("\r\n", "\n").removesuffix("\n")
                yield text, row.values[-1] if columns.time else None
        self._check(any_text)

    def _report(self, problem: str, number: int) -> None:
        if self.strict:
            raise InputError(
                f"{self.location}, {self._unit} {number}: such {self._unit}s {problem}; "
                "correct it, or leave out --strict to skip such rows"
            )
        known = self.problems.setdefault(problem, _Problem(0, number))
        known.count += 1

    def _check(self, any_text: bool) -> None:
        self._is_empty = not any_text
        if not self.alone:
            return
        if not any_text and self.location == files.STANDARD_INPUT:
            raise InputError("there is no text on standard input; pipe some in")
        if not any_text:
            raise InputError(f"{self.location}: contains no text; give a file with text")


def _problem(value: Any, column: str) -> str:
    if not isinstance(value, str):
        return f"have no text in {column!r}"
    if "\0" in value:
        return "have a NUL character"
    try:
        value.encode()
    except UnicodeEncodeError:
        return "have half a character (a lone surrogate)"
    return "" if value.strip() else f"have an empty {column!r}"


def joined(texts: Iterable[str]) -> Iterator[str]:
    """Join texts to blocks."""
    block: list[str] = []
    size = 0
    for text in texts:
        block.append(text)
        size += len(text)
        if size >= _BLOCK:
            yield "".join(block)
            block, size = [], 0
    if block:
        yield "".join(block)
