"""Count the types (distinct words) of a text of any size, in bounded memory.

Takes words, gives the frequent ones, exactly. If there are more types than the bound, all counts so
far go to a sorted file; at the end the files are merged, word by word, and only as many words are
kept as the vocabulary may have. Called by the tokenizers of words.
"""

from __future__ import annotations

import heapq
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import IO

from elman.text.tokenizer import TextConfig, smallest_count, words_to_keep

MOST_TYPES = 2_000_000  # in memory at a time: some 300 MB


class TypeCounts:
    """How often each word occurs."""

    def __init__(self, without: Iterable[str] = ()) -> None:
        self._without = frozenset(without)  # markers, which are no words
        self._counts: Counter[str] = Counter()
        self._files: list[IO[str]] = []

    def add(self, words: Iterable[str]) -> None:
        """Count words."""
        self._counts.update(words)
        if len(self._counts) > MOST_TYPES:
            self._files.append(self._sorted_file())
            self._counts.clear()

    def _sorted_file(self) -> IO[str]:
        file = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115  # until the end
        for word in sorted(self._counts):
            file.write(f"{json.dumps([word, self._counts[word]])}\n")
        file.seek(0)
        return file

    def frequent(self, config: TextConfig, min_count: int, reserved: int) -> list[str]:
        """The words that are frequent enough, most frequent first, ties in alphabetical order."""
        smallest, room = smallest_count(config, min_count), words_to_keep(config, reserved)
        ranked = (
            (-count, word)
            for word, count in self._totals()
            if count >= smallest and word not in self._without
        )
        chosen = sorted(ranked) if room is None else heapq.nsmallest(room, ranked)
        return [word for _, word in chosen]

    def _totals(self) -> Iterator[tuple[str, int]]:
        if not self._files:
            yield from self._counts.items()
            return
        parts = [_read(file) for file in (*self._files, self._sorted_file())]
        for word, entries in groupby(heapq.merge(*parts), key=lambda entry: entry[0]):
            yield word, sum(count for _, count in entries)


def _read(file: IO[str]) -> Iterator[tuple[str, int]]:
    with file:
        for line in file:
            word, count = json.loads(line)
            yield word, count
