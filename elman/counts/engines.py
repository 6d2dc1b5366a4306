"""Engines that add up counts: numpy in memory, DuckDB on one machine, Spark on a cluster.

An engine takes files of n-grams (`shards.py`) and gives the n-grams of one order, each once, with
the sum of its counts, sorted. Below the highest order it also counts how many different words come
before each n-gram, as Kneser-Ney smoothing needs. These are integers, so all engines give the same
rows, and everything after them is the same code. Called by `levels_on_disk.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from elman.counts.shards import BEFORE, COUNT, columns, group, read_rows, shorten, write_rows

MEMORY, DUCKDB, SPARK = ENGINES = ("memory", "duckdb", "spark")


class Engine(ABC):
    """Adds up the counts of n-grams."""

    @abstractmethod
    def merge(self, files: Sequence[Path], order: int, out: Path) -> list[Path]:
        """Add up the counts of several files; files in the order of their rows."""

    @abstractmethod
    def shorten(self, files: Sequence[Path], order: int, out: Path) -> list[Path]:
        """The n-grams of an order from those of the next one, which `merge` or this gave."""


class InMemory(Engine):
    """numpy; the counts of all files are in memory at the same time."""

    def merge(self, files: Sequence[Path], order: int, out: Path) -> list[Path]:
        rows, counts = _read(files, order)
        rows, counts = group(rows, counts)
        write_rows(out, rows, {COUNT: counts})
        return [out]

    def shorten(self, files: Sequence[Path], order: int, out: Path) -> list[Path]:
        rows, counts, before = shorten(*_read(files, order + 1))
        write_rows(out, rows, {COUNT: counts, BEFORE: before})
        return [out]


def _read(files: Sequence[Path], order: int) -> tuple[list[np.ndarray], np.ndarray]:
    batches = [batch for file in files for batch in read_rows(file)]
    found = [np.concatenate([batch[name] for batch in batches]) for name in columns(order)]
    return found, np.concatenate([batch[COUNT] for batch in batches])
