"""Fit a back-off model to counts that are larger than memory.

Takes files of n-grams (`shards.py`), gives the `Tables` that `estimate.py` gives for the same text,
number by number, mapped from files. The smoothers are the same: they get the n-grams of some
contexts at a time, all of each context, with the count statistics of the whole order. Called by
`tasks/language_modelling/counting.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from elman.counts.engines import Engine
from elman.counts.estimate import NgramConfig
from elman.counts.levels_on_disk import DiskLevel, DiskRoom, Told, read_levels
from elman.counts.number_files import NumberFile, gather, ranges
from elman.counts.smoothers import Counts, Weights
from elman.counts.tables import OrderTable, Tables

Array = np.ndarray
_STATISTICS = 7  # counts below this are tallied: discounts depend on how many n-grams have them


def estimate_on_disk(
    files: Sequence[Path],
    config: NgramConfig,
    engine: Engine,
    room: DiskRoom,
    *,
    vocabulary_size: int,
    eos_id: int,
    told: Told = lambda what: None,
) -> Tables:
    """Fit a back-off model to the counts of these files."""
    levels = read_levels(
        files,
        engine,
        room,
        order=config.order,
        vocabulary_size=vocabulary_size,
        eos_id=eos_id,
        told=told,
    )
    builder = _Builder(levels, config, room, vocabulary_size, eos_id)
    for index in range(config.order):
        told(f"smoothing order {index + 1}")
        builder.add_order(index)
    return builder.finish()


@dataclass
class _PartOfOrder(Counts):
    """Some contexts of an order; statistics are those of the whole order."""

    tally: Array = field(default_factory=lambda: np.zeros(_STATISTICS, dtype=np.int64))

    def number_with(self, count: int) -> int:
        return int(self.tally[count])


@dataclass
class _OrderFiles:
    """The table of one order while it is written."""

    prefixes: NumberFile
    words: NumberFile
    log_probs: NumberFile
    counts: NumberFile
    log_backoffs: NumberFile
    kept: NumberFile  # whether the cutoffs keep each n-gram


class _Builder:
    """Combines the orders from the bottom up, like the one in `estimate.py`."""

    def __init__(
        self,
        levels: list[DiskLevel],
        config: NgramConfig,
        room: DiskRoom,
        vocabulary_size: int,
        eos_id: int,
    ) -> None:
        self.levels = levels
        self.config = config
        self.room = room
        self.vocabulary_size = vocabulary_size
        self.eos_id = eos_id
        self.smoother = config.smoother()
        self.probs = room.file("probs-0", np.float64)  # of the order below; initially uniform
        self.probs.append(np.full(1, 1 / vocabulary_size))
        self.tables: list[_OrderFiles] = []
        self.fallbacks: dict[str, list[str]] = {}  # note to the orders that it concerns
        self.discounts: list[list[float]] = []

    def add_order(self, index: int) -> None:
        """Smooth the next order, and set the back-off weights of the order below."""
        level = self.levels[index]
        shorter = self.room.file("shorter", np.float64)
        gather(self.probs, level.suffixes, shorter, self.room.at_once)
        self.probs.remove()
        self.probs = self.room.file(f"probs-{index + 1}", np.float64)
        table = self._new_table(index)
        tally = self._tally(index)
        weights: Weights | None = None
        for begin, end, first, last in self._parts(index):
            counts = self._counts(index, begin, end, first, last, tally)
            weights = self.smoother.weigh(counts)
            kept = self._cut(index, weights, counts, level.counts.read(begin, end))
            probs, backoffs = self.smoother.combine(counts, weights, shorter.read(begin, end))
            if index > 0:
                self.tables[-1].log_backoffs.append(_log(backoffs))
            self.probs.append(probs)
            self._write(table, counts, first, level.keys.read(begin, end), _log(probs))
            table.kept.append(kept)
        shorter.remove()
        for file in (level.before, level.counts, level.keys):  # suffixes are used once more
            file.remove()
        self.tables.append(table)
        assert weights is not None  # there is always a part
        self.discounts.append(list(weights.discounts))
        if weights.note:
            self.fallbacks.setdefault(weights.note, []).append(str(index + 1))

    def _new_table(self, index: int) -> _OrderFiles:
        kinds: dict[str, Any] = {"prefixes": np.int32, "words": np.int32, "log_probs": np.float64}
        kinds |= {"counts": np.int32, "log_backoffs": np.float64, "kept": np.bool_}
        named = {
            name: self.room.file(f"table-{index + 1}-{name}", kind) for name, kind in kinds.items()
        }
        return _OrderFiles(**named)

    def _write(
        self, table: _OrderFiles, counts: Counts, first: int, keys: Array, log_probs: Array
    ) -> None:
        table.prefixes.append(counts.contexts + first)
        table.words.append(keys % self.vocabulary_size)
        table.log_probs.append(log_probs)
        table.counts.append(counts.counts)

    def _parts(self, index: int) -> Iterator[tuple[int, int, int, int]]:
        """Ranges of n-grams, and of the contexts that these are all n-grams of."""
        level = self.levels[index]
        contexts = len(self.levels[index - 1]) if index else 1
        at_once = self.room.rows if self.smoother.in_parts else max(len(level), 1)
        begin = first = 0
        while begin < len(level) or first < contexts:
            end, last = self._end_of_part(level, begin + at_once, contexts)
            yield begin, end, first, last
            begin, first = end, last

    def _end_of_part(self, level: DiskLevel, wanted: int, contexts: int) -> tuple[int, int]:
        """The end of the context that the n-gram before `wanted` belongs to."""
        if wanted >= len(level):
            return len(level), contexts
        context = int(level.keys.read(wanted - 1, wanted)[0]) // self.vocabulary_size
        end = int(np.searchsorted(level.keys.mapped(), (context + 1) * self.vocabulary_size))
        return (end, context + 1) if end < len(level) else (end, contexts)

    def _adjusted(self, index: int, begin: int, end: int) -> Array:
        """The counts of some n-grams as the smoother counts."""
        level = self.levels[index]
        counts = level.counts.read(begin, end)
        if index == len(self.levels) - 1:
            return counts
        first, last = level.line_starts
        places = np.arange(begin, end)
        starts_line = (places >= first) & (places < last) & (index > 0)
        before = level.before.read(begin, end)
        return self.smoother.adjust(counts, before, starts_line, self.config.context)

    def _tally(self, index: int) -> Array:
        """How many n-grams of an order have each small count."""
        tally = np.zeros(_STATISTICS, dtype=np.int64)
        for begin, end in ranges(len(self.levels[index]), self.room.rows):
            small = np.minimum(self._adjusted(index, begin, end), _STATISTICS)
            tally += np.bincount(small, minlength=_STATISTICS + 1)[:_STATISTICS]
        return tally

    def _counts(
        self, index: int, begin: int, end: int, first: int, last: int, tally: Array
    ) -> _PartOfOrder:
        keys = self.levels[index].keys.read(begin, end)
        prefixes = keys // self.vocabulary_size if index else np.zeros(len(keys), dtype=np.int64)
        highest = index == len(self.levels) - 1
        shorter, is_longest = np.zeros(1, np.int64), np.array([highest])
        if index:
            below = self.levels[index - 1]
            shorter = below.suffixes.read(first, last)
            places = np.arange(first, last)
            is_longest = (places >= below.line_starts[0]) & (places < below.line_starts[1])
            is_longest = (is_longest & (self.config.context == "line")) | highest
        return _PartOfOrder(
            vocabulary_size=self.vocabulary_size,
            counts=self._adjusted(index, begin, end),
            contexts=prefixes - first,
            shorter_contexts=shorter,
            is_longest=is_longest,
            tally=tally,
        )

    def _cut(self, index: int, weights: Weights, counts: Counts, seen: Array) -> Array:
        """Which n-grams to keep; the mass of the others goes to the shorter contexts."""
        cutoffs = self.config.cutoffs
        if index == 0 or not cutoffs:
            return np.ones(len(seen), dtype=bool)
        kept = seen >= cutoffs[min(index, len(cutoffs) - 1)]
        weights.gamma += counts.sum(np.where(kept, 0.0, weights.alpha))
        weights.alpha[~kept] = 0.0
        return kept

    def finish(self) -> Tables:
        """The tables without the dropped n-grams, renumbered."""
        self.probs.remove()
        for level in self.levels:
            level.remove()
        highest = self.tables[-1]
        for begin, end in ranges(len(highest.words), self.room.rows):
            highest.log_backoffs.append(np.zeros(end - begin))  # nothing follows
        if self.config.cutoffs:
            self._renumber()
        tables = [self._table(index) for index in range(len(self.tables))]
        notes = [f"order {', '.join(orders)}: {note}" for note, orders in self.fallbacks.items()]
        empty = [str(order) for order, table in enumerate(tables, 1) if len(table) == 0]
        if empty:
            notes.append(f"there are no n-grams of order {', '.join(empty)} (after cutoffs)")
        return Tables(tables, self.vocabulary_size, self.eos_id, notes, self.discounts)

    def _table(self, index: int) -> OrderTable:
        """The table of an order, mapped from its files; starts take the place of prefixes."""
        files = self.tables[index]
        starts = self._starts(index).mapped() if index else None
        prefixes = None if index else files.prefixes.mapped()
        if index:
            files.prefixes.remove()
        return OrderTable(
            prefixes,
            files.words.mapped(),
            files.log_probs.mapped(),
            files.log_backoffs.mapped(),
            files.counts.mapped(),
            starts,
        )

    def _starts(self, index: int) -> NumberFile:
        """Where the n-grams that extend each n-gram of the order below begin, and the end."""
        prefixes, below = self.tables[index].prefixes, len(self.tables[index - 1].words)
        starts = self.room.file(f"table-{index + 1}-starts", np.int32)
        for begin, end in ranges(len(prefixes), self.room.at_once):
            part = prefixes.read(begin, end)
            self._write_starts(starts, int(part[-1]) + 1, part, begin)
        self._write_starts(starts, below + 1, np.zeros(0, np.int32), len(prefixes))
        return starts

    def _write_starts(self, starts: NumberFile, end: int, prefixes: Array, begin: int) -> None:
        """Add the starts up to a number; these prefixes come after `begin` others."""
        for first in range(len(starts), end, self.room.at_once):
            numbers = np.arange(first, min(first + self.room.at_once, end))
            starts.append(begin + np.searchsorted(prefixes, numbers))

    def _renumber(self) -> None:
        """Leave out what the cutoffs drop; prefixes ascend, so all files are read in order."""
        numbers = self.room.file("numbers-0", np.int64)
        numbers.append(np.zeros(1))
        for index, old in enumerate(self.tables, start=1):
            new = self._new_table(-index)
            following = self.room.file(f"numbers-{index}", np.int64)
            count = 0
            for begin, end in ranges(len(old.words), self.room.rows):
                kept = old.kept.read(begin, end)
                following.append(count + np.cumsum(kept) - 1)
                count += int(np.count_nonzero(kept))
                prefixes = old.prefixes.read(begin, end)
                first = int(prefixes[0])
                renumbered = numbers.read(first, int(prefixes[-1]) + 1)
                new.prefixes.append(renumbered[prefixes[kept] - first])
                for name in ("words", "log_probs", "counts", "log_backoffs"):
                    getattr(new, name).append(getattr(old, name).read(begin, end)[kept])
            numbers.remove()
            for file in vars(old).values():
                file.remove()
            numbers, self.tables[index - 1] = following, new
        numbers.remove()


def _log(values: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(values)
