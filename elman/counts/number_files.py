"""Arrays in files that may be larger than memory, and lookups in them.

A `NumberFile` is appended to and read in parts, or mapped when it is complete. `gather` and `find`
read random places of a large array without random reads of the disk: the array is loaded in
pieces that fit into memory, and for each piece all requests are read once, in order. Called by
`levels_on_disk.py` and `estimate_on_disk.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray


class NumberFile:
    """Numbers of one type in a file."""

    def __init__(self, path: Path, kind: Any) -> None:
        self.path = path
        self.kind = np.dtype(kind)
        self._size = 0
        path.write_bytes(b"")

    def __len__(self) -> int:
        return self._size

    def append(self, values: Array) -> None:
        """Add numbers at the end."""
        with self.path.open("ab") as file:
            file.write(np.ascontiguousarray(values, dtype=self.kind).data)
        self._size += len(values)

    def read(self, begin: int, end: int) -> Array:
        """The numbers of a range."""
        size = self.kind.itemsize
        return np.fromfile(self.path, self.kind, max(end - begin, 0), offset=begin * size)

    def replace(self, begin: int, values: Array) -> None:
        """Write numbers over others."""
        with self.path.open("r+b") as file:
            file.seek(begin * self.kind.itemsize)
            file.write(np.ascontiguousarray(values, dtype=self.kind).data)

    def mapped(self) -> Array:
        """All numbers, read from the disk when they are used."""
        if not self._size:
            return np.zeros(0, self.kind)
        return np.memmap(self.path, self.kind, mode="r", shape=(self._size,))

    def remove(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)


def ranges(size: int, at_once: int) -> Iterator[tuple[int, int]]:
    """Cut a number of entries into ranges."""
    for begin in range(0, size, at_once):
        yield begin, min(begin + at_once, size)


Look = Callable[[Array, int, Array], tuple[Array, Array]]


def gather(values: NumberFile, places: NumberFile, out: NumberFile, at_once: int) -> None:
    """out[i] = values[places[i]]."""

    def look(piece: Array, first: int, wanted: Array) -> tuple[Array, Array]:
        here = np.flatnonzero((wanted >= first) & (wanted < first + len(piece)))
        return here, piece[wanted[here] - first]

    _look_up(values, places, out, at_once, look)


def find(keys: NumberFile, wanted: NumberFile, out: NumberFile, at_once: int) -> None:
    """out[i] = the place of wanted[i] in the sorted keys; every one is there."""

    def look(piece: Array, first: int, asked: Array) -> tuple[Array, Array]:
        here = np.flatnonzero((asked >= piece[0]) & (asked <= piece[-1]))
        here = here[asked[here].argsort()]  # neighbours share their way through memory
        return here, first + np.searchsorted(piece, asked[here])

    _look_up(keys, wanted, out, at_once, look)


def _look_up(
    table: NumberFile, wanted: NumberFile, out: NumberFile, at_once: int, look: Look
) -> None:
    chunk = max(at_once // 8, 1)
    for first, last in ranges(len(table), at_once):
        piece = table.read(first, last)
        for begin, end in ranges(len(wanted), chunk):
            places, found = look(piece, first, wanted.read(begin, end))
            values = np.zeros(end - begin, out.kind) if first == 0 else out.read(begin, end)
            values[places] = found
            if first == 0:
                out.append(values)
            else:
                out.replace(begin, values)
