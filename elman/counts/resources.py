"""What counting may use and what it needs: engine, memory, disk.

`Resources` come from the command line (--engine, --memory, --master). The need of a text is
extrapolated from a sample of it. Called by `tasks/language_modelling/counting.py` before the work.
"""

from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from elman.counts.duckdb import DuckDB
from elman.counts.engines import DUCKDB, ENGINES, MEMORY, SPARK, Engine, InMemory
from elman.counts.shards import group, shorten, windows
from elman.counts.spark import Spark
from elman.errors import InputError, nearest

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_SMALLEST = 256 << 20  # bytes of memory that elman itself, numpy and an engine take
_SMALLEST_ON_DISK = {DUCKDB: 512 << 20, SPARK: 1536 << 20}  # bytes; Java takes more
_SHARE = 0.7  # of the memory of the machine, unless --memory says otherwise
_SAMPLE = 1 << 19  # tokens from which the number of n-grams is extrapolated

_IN_MEMORY = 24  # bytes of memory per token and order; benchmarks/scale.py measured 20 at order 5
_WORD = 400  # bytes of memory per word of the vocabulary, while it is learned
# Bytes on disk. Measured for 10 million tokens and order 5 (benchmarks/scale_counting.py): 24 per
# n-gram of the run folder, 54 for all files together at their largest.
_RUN = 28  # of the run folder per n-gram
_WORK = 60  # of the work folder per n-gram, at its largest
_SHARDS = 12  # of the shards per token


@dataclass(frozen=True)
class Resources:
    """What counting may use."""

    engine: str | None = None  # None: chosen by the size of the text
    memory: int | None = None  # bytes; None: most of the memory of the machine
    master: str | None = None  # the address of a Spark cluster

    def __post_init__(self) -> None:
        if self.engine is not None and self.engine not in ENGINES:
            raise InputError(f"--engine {self.engine}: unknown; {nearest(self.engine, ENGINES)}")
        if self.memory is not None and self.memory < _SMALLEST:
            raise InputError(f"--memory: give at least {shown(_SMALLEST)}")
        if self.master is not None and self.engine not in (None, SPARK):
            raise InputError(f"--master is for --engine spark, not for {self.engine}")

    @property
    def bytes(self) -> int:
        """The memory to use."""
        return self.memory or int(_SHARE * _physical_bytes())

    def choose(self, tokens: int, order: int, vocabulary: int = 0) -> str:
        """The engine for a text of this size; an InputError if the given one does not suffice."""
        needed = memory_of(tokens, order, vocabulary)
        engine = self.engine
        if engine is None:
            fits = needed <= self.bytes
            engine = SPARK if self.master is not None else MEMORY if fits else DUCKDB
        least = 0 if self.master else _SMALLEST_ON_DISK.get(engine, 0)  # a cluster has its own
        if self.memory is not None and self.memory < least:
            raise InputError(f"--memory: the engine {engine} needs at least {shown(least)}")
        if self.engine == MEMORY and self.memory is not None and needed > self.memory:
            raise InputError(
                f"--engine memory needs about {shown(needed)} for {tokens:,} tokens, more than "
                f"--memory {shown(self.memory)}; raise --memory or use --engine duckdb"
            )
        return engine

    def start(self, engine: str, folder: Path, threads: int | None) -> Engine:
        """The engine with this name, with a folder for its files."""
        if engine == MEMORY:
            return InMemory()
        if engine == DUCKDB:
            return DuckDB(folder, self.bytes, threads)
        return Spark.connected(folder, self.bytes, self.master)


def parse_memory(text: str) -> int:
    """The bytes of a text like 2G or 512M."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise InputError(f"--memory {text}: write a size like 2G or 512M")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def shown(size: float) -> str:
    """A size in words."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.0f} MB"


def memory_of(tokens: int, order: int, vocabulary: int = 0) -> int:
    """The memory that counting takes without files."""
    return _SMALLEST + tokens * order * _IN_MEMORY + vocabulary * _WORD


@dataclass(frozen=True)
class Need:
    """The disk space of a training."""

    ngrams: int
    work: int  # bytes in the cache folder, until the end
    run: int  # bytes of the run folder

    def check(self, work: Path, out: Path | None) -> None:
        """Refuse if a disk has less room."""
        places = [(work, self.work)] + ([(out, self.run)] if out is not None else [])
        by_disk: dict[int, int] = {}
        for place, size in places:
            place = _existing(place)
            disk = os.stat(place).st_dev
            by_disk[disk] = by_disk.get(disk, 0) + size
            free = shutil.disk_usage(place).free
            if by_disk[disk] > free:
                raise InputError(
                    f"{place}: {shown(free)} are free, but counting needs about "
                    f"{shown(by_disk[disk])} here; make room, or set ELMAN_CACHE to a folder on a "
                    "larger disk"
                )


def estimate_need(
    ids: np.ndarray, *, order: int, eos_id: int, context: str, tokens: int | None = None
) -> Need:
    """The need of a text (of `tokens` tokens, if the ids are a sample), from its beginning."""
    size = min(len(ids), _SAMPLE)
    whole = len(ids) if tokens is None else tokens
    found = _distinct(ids, size, order, eos_id, context)
    half = _distinct(ids, max(size // 2, 1), order, eos_id, context)
    ngrams = sum(
        grown(few, many, whole / max(size, 1)) for few, many in zip(half, found, strict=True)
    )
    return need_of(ngrams, whole)


def need_of(ngrams: float, tokens: int) -> Need:
    """The disk space for so many n-grams of all orders."""
    return Need(int(ngrams), int(ngrams * _WORK + tokens * _SHARDS), int(ngrams * _RUN))


def grown(half: int, whole: int, times: float) -> float:
    """Heaps' law: the number of distinct n-grams in a text that is longer than its sample."""
    exponent = min(max(math.log2(max(whole, 1) / max(half, 1)), 0.0), 1.0)
    return whole * max(times, 1.0) ** exponent


def _distinct(ids: np.ndarray, size: int, order: int, eos_id: int, context: str) -> Sequence[int]:
    rows, counts = group(windows(ids, 0, size, order=order, eos_id=eos_id, context=context))
    found = [len(counts)]
    for _ in range(order - 1):
        rows, counts, _ = shorten(rows, counts)
        found.append(len(counts))
    return found


def _existing(place: Path) -> Path:
    """The folder that a path would be created in."""
    place = Path(os.path.abspath(place))
    return next(one for one in (place, *place.parents) if one.exists())


def _physical_bytes() -> int:
    try:
        found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not on this system
        found = 4 << 30
    try:
        return min(found, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):  # no limit
        return found
