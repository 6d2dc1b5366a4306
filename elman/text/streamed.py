"""Texts from one or many files, held in memory if they are small and streamed if they are not.

Takes sources (`sources.py`), gives a `Document`. A streamed document reads its files again whenever
its text is needed. A selection chooses the lines (or rows of a table) of one split.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from elman.errors import InputError
from elman.text import files
from elman.text.example_splits import ORDERED, TIME, fingerprint
from elman.text.reader import Document, Survey
from elman.text.sources import Source, joined

IN_MEMORY = 64 << 20  # characters of a text that is held in memory
SHARES = {"train": (2, 20), "valid": (0, 1), "test": (1, 2)}  # of twenty parts
_PARTS = 20


class Selection(ABC):
    """Which lines or rows belong to a split."""

    @abstractmethod
    def has(self, number: int, text: str, time: Any) -> bool:
        """Whether the split has the text with this number in all files together."""


@dataclass(frozen=True)
class InOrder(Selection):
    """A range of the lines."""

    start: int
    end: int

    def has(self, number: int, text: str, time: Any) -> bool:
        return self.start <= number < self.end


@dataclass(frozen=True)
class ByHash(Selection):
    """Lines by a hash of their text: equal lines are in the same split, whatever the order."""

    split: str
    way: str

    def has(self, number: int, text: str, time: Any) -> bool:
        first, end = SHARES[self.split]
        return first <= fingerprint(text, self.way) % _PARTS < end


@dataclass(frozen=True)
class ByTime(Selection):
    """Rows whose time is after `start` and not after `end`; None: no limit."""

    start: Any
    end: Any

    def has(self, number: int, text: str, time: Any) -> bool:
        return (self.start is None or time > self.start) and (self.end is None or time <= self.end)


class StreamedDocument(Document):
    """A text that is read from its files whenever it is needed."""

    is_large = True

    def __init__(
        self, name: str, sources: Sequence[Source], selection: Selection | None = None
    ) -> None:
        super().__init__(name, "")
        self.sources = [*sources]
        self.selection = selection

    @property
    def notes(self) -> list[str]:
        """What was changed or left out, as far as it was read; a split leaves it to the whole."""
        if self.selection is not None:
            return []
        return [note for source in self.sources for note in source.notes()]

    @property
    def text(self) -> str:
        """The whole text; for a small part of it, or where memory is known to suffice."""
        return "".join(self.blocks())

    def blocks(self) -> Iterator[str]:
        """The text in blocks of whole lines; a complete reading also makes the survey."""
        survey = Survey()
        for block in self._blocks() if self.selection is None else self._selected():
            survey.add(block)
            yield block
        self.__dict__["survey"] = survey  # so that the cached property needs no other reading

    def beginning(self, characters: int) -> str:
        found = ""
        for block in self.blocks():
            found += block
            if len(found) >= characters:
                break
        return found[:characters]

    def _blocks(self) -> Iterator[str]:
        """Blocks of all sources; a file whose last line has no end gets one."""
        last = len(self.sources) - 1
        for number, source in enumerate(self.sources):
            block = ""
            for block in source.blocks():
                yield block
            if number < last and not block.endswith("\n"):
                yield "\n"

    def _selected(self) -> Iterator[str]:
        assert self.selection is not None
        has = self.selection.has
        units = (unit for source in self.sources for unit in source.units())
        yield from joined(
            f"{text}\n" for number, (text, time) in enumerate(units) if has(number, text, time)
        )

    def identity(self) -> list[Any]:
        """Everything that the text depends on, for a cache; [] if it cannot be read again."""
        found: list[Any] = [repr(self.selection)]
        for source in self.sources:
            state = files.state_of(source.location)
            if state is None:
                return []
            found.append([source.location, state, source.form, repr(source.columns)])
        return found


def document_of(
    name: str, sources: Sequence[Source], selection: Selection | None = None
) -> Document:
    """A document of these sources: in memory if the text is small."""
    streamed = StreamedDocument(name, sources, selection)
    blocks, size = [], 0
    for block in streamed.blocks():
        blocks.append(block)
        size += len(block)
        if size > IN_MEMORY:
            return streamed
    if selection is None and not any(block.strip() for block in blocks):
        raise InputError(f"{name}: contains no text; give files with text")
    return Document(name, "".join(blocks), streamed.notes)


def selections(sources: Sequence[Source], way: str) -> dict[str, Selection]:
    """The selection of each split for a text without splits."""
    if way == TIME:
        return _by_time(sources)
    if way != ORDERED:
        return {split: ByHash(split, way) for split in SHARES}
    count = sum(1 for source in sources for _ in source.units())
    ends = [round(0.90 * count), round(0.95 * count), count]
    return {
        split: InOrder(start, end)
        for split, start, end in zip(SHARES, [0, *ends], ends, strict=False)
    }


def _by_time(sources: Sequence[Source]) -> dict[str, Selection]:
    times = [time for source in sources for _, time in source.units()]
    if any(time is None for time in times):
        raise InputError(
            "text.split=time: name the column with the time of each row, like "
            "--columns text=body,time=date; every row needs one"
        )
    try:
        times.sort()
    except TypeError:
        raise InputError(
            "text.split=time: the times are numbers in some rows and text in others; write them "
            "in one way, like 2026-01-31"
        ) from None
    first, second = (times[round(share * len(times)) - 1] for share in (0.90, 0.95))
    return {
        "train": ByTime(None, first),
        "valid": ByTime(first, second),
        "test": ByTime(second, None),
    }
