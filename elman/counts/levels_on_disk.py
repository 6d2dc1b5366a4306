"""Turn sorted files of n-grams into numbered levels, in bounded memory.

Takes files of n-grams (`shards.py`) and an engine that adds them up (`engines.py`), gives one
`DiskLevel` per order, with the same numbers as `counting.py`; called by `estimate_on_disk.py`.

The engine sorts the n-grams of each order. So the number of an n-gram is its row, prefixes are found
by reading two files side by side, and suffixes by `number_files.find`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from elman.counts.engines import Engine
from elman.counts.number_files import NumberFile, find, ranges
from elman.counts.shards import BEFORE, COUNT, columns, read_rows
from elman.errors import InputError

Array = np.ndarray
Told = Callable[[str], None]
_MOST = 2**31 - 1  # n-grams of an order that an int32 can number


@dataclass
class DiskLevel:
    """All distinct n-grams of one order; entry i of each file describes n-gram number i."""

    keys: NumberFile  # number of the prefix * size of the vocabulary + last word
    suffixes: NumberFile  # number, one level down, of the n-gram without its first word
    counts: NumberFile  # how often it was seen
    before: NumberFile  # how many different words come before it; not for the highest order
    line_starts: tuple[int, int]  # the numbers of the n-grams that begin with <eos>

    def __len__(self) -> int:
        return len(self.keys)

    def remove(self) -> None:
        """Remove the files."""
        for file in (self.keys, self.suffixes, self.counts, self.before):
            file.remove()


@dataclass(frozen=True)
class DiskRoom:
    """Where files go while counts are added up, and how many entries are in memory at once."""

    folder: Path
    memory: int

    @property
    def at_once(self) -> int:
        """Entries of the largest array in memory."""
        return max(self.memory // 64, 1 << 12)

    @property
    def rows(self) -> int:
        """N-grams that are smoothed at once."""
        return max(self.memory // 1024, 1 << 10)

    def file(self, name: str, kind: type) -> NumberFile:
        return NumberFile(self.folder / f"{name}.bin", kind)


def read_levels(
    files: Sequence[Path],
    engine: Engine,
    room: DiskRoom,
    *,
    order: int,
    vocabulary_size: int,
    eos_id: int,
    told: Told = lambda what: None,
) -> list[DiskLevel]:
    """Add up the counts of these files, for orders 1 to `order`."""
    told(f"adding up counts of order {order}")
    sorted_files = {order: engine.merge(files, order, room.folder / f"order-{order}.parquet")}
    for shorter in range(order - 1, 0, -1):
        told(f"adding up counts of order {shorter}")
        place = room.folder / f"order-{shorter}.parquet"
        sorted_files[shorter] = engine.shorten(sorted_files[shorter + 1], shorter, place)
    numbering = _Numbering(room, vocabulary_size, eos_id)
    for length in range(1, order + 1):
        told(f"numbering n-grams of order {length}")
        numbering.add(length, sorted_files[length])
        for file in sorted_files[length]:
            shutil.rmtree(file) if file.is_dir() else file.unlink()
    return numbering.levels


class _Numbering:
    """Numbers the n-grams of one order after the other."""

    def __init__(self, room: DiskRoom, vocabulary_size: int, eos_id: int) -> None:
        self.room = room
        self.size = vocabulary_size
        self.eos_id = eos_id
        self.levels: list[DiskLevel] = []

    def add(self, order: int, files: Sequence[Path]) -> None:
        """The next order, from its sorted files."""
        level = DiskLevel(
            self.room.file(f"keys-{order}", np.int64),
            self.room.file(f"suffixes-{order}", np.int32),
            self.room.file(f"counts-{order}", np.int64),
            self.room.file(f"before-{order}", np.int64),
            (self.eos_id, self.eos_id + 1),
        )
        if order == 1:
            self._add_words(level, files)
        else:
            level.line_starts = self._add_ngrams(level, order, files)
            self._find_suffixes(level)
        if len(level) > _MOST:
            raise InputError(
                f"there are {len(level):,} n-grams of order {order}, more than {_MOST:,}; "
                "lower model.order or text.vocabulary_size"
            )
        self.levels.append(level)

    def _add_words(self, level: DiskLevel, files: Sequence[Path]) -> None:
        """Level 1 has every word of the vocabulary, also those that never occur."""
        counts, before = np.zeros((2, self.size), dtype=np.int64)
        for rows in (rows for file in files for rows in read_rows(file)):
            words = rows["w1"]
            if len(words) and not 0 <= words.min() <= words.max() < self.size:
                raise InputError(
                    f"the counts have the word {words.max()}, but the vocabulary has "
                    f"{self.size:,} words"
                )
            counts[words] = rows[COUNT]
            before[words] = rows.get(BEFORE, 0)
        level.keys.append(np.arange(self.size))
        level.suffixes.append(np.zeros(self.size))
        level.counts.append(counts)
        level.before.append(before)

    def _add_ngrams(self, level: DiskLevel, order: int, files: Sequence[Path]) -> tuple[int, int]:
        """The keys and counts of the n-grams; the range of those that begin with <eos>."""
        below_eos = up_to_eos = 0
        for rows in (rows for file in files for rows in read_rows(file)):
            whole = rows[f"w{order}"] >= 0  # others are shorter n-grams at the start of a line
            words = [rows[name][whole].astype(np.int64) for name in columns(order)]
            below_eos += int(np.count_nonzero(words[0] < self.eos_id))
            up_to_eos += int(np.count_nonzero(words[0] <= self.eos_id))
            numbers = words[0]
            for below, word in zip(self.levels[1:], words[1:-1], strict=True):
                numbers = _find_ascending(below.keys, numbers * self.size + word)
            level.keys.append(numbers * self.size + words[-1])
            level.counts.append(rows[COUNT][whole])
            if BEFORE in rows:
                level.before.append(rows[BEFORE][whole])
        return below_eos, up_to_eos

    def _find_suffixes(self, level: DiskLevel) -> None:
        """The suffix of an n-gram is its last word after the suffix of its prefix."""
        below = self.levels[-1]
        wanted = self.room.file("wanted", np.int64)
        for begin, end in ranges(len(level), self.room.at_once // 8):
            prefixes, words = np.divmod(level.keys.read(begin, end), self.size)
            first = int(prefixes[0])
            suffixes = below.suffixes.read(first, int(prefixes[-1]) + 1)[prefixes - first]
            wanted.append(suffixes.astype(np.int64) * self.size + words)
        find(below.keys, wanted, level.suffixes, self.room.at_once)
        wanted.remove()


def _find_ascending(keys: NumberFile, wanted: Array) -> Array:
    """Places of ascending numbers in sorted keys; only the range between them is read."""
    if not len(wanted):
        return wanted
    everything = keys.mapped()
    first = int(np.searchsorted(everything, wanted[0]))
    last = int(np.searchsorted(everything, wanted[-1])) + 1
    return first + np.searchsorted(keys.read(first, last), wanted)
