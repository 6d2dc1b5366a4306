"""Fit a back-off model to a text: count, smooth each order, combine the orders, apply cutoffs.

Takes ids and the settings, gives `Tables`; called by the n-gram model.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, ClassVar

import numpy as np

from elman.counts.counting import Level, count_levels
from elman.counts.smoothers import SMOOTHERS, Counts, Smoother, Weights
from elman.counts.tables import OrderTable, Tables
from elman.errors import InputError
from elman.registry import check_options

Array = np.ndarray
IMPORTED = "imported"  # the unknown smoothing of a model from another program


@dataclass(kw_only=True)
class NgramConfig:
    """An n-gram model."""

    order: int = 5  # length of the longest n-gram: context words plus one
    smoothing: str = "modified-kneser-ney"  # elman list smoothers
    options: dict[str, Any] = field(default_factory=dict)  # options of the smoother, like delta
    cutoffs: tuple[int, ...] = ()  # smallest count to keep, per order; the last for higher orders
    context: str = "line"  # "line": contexts stop at line starts; "stream": they continue

    moved: ClassVar[dict[str, str]] = {"delta": "options.delta", "backoff": "options.backoff"}

    def __post_init__(self) -> None:
        if self.smoothing != IMPORTED:
            self.options = check_options(SMOOTHERS, self.smoothing, self.options, "model.options")
            self.smoother()  # checks the values
        if not 1 <= self.order <= 20:
            raise InputError(f"model.order={self.order}: choose from 1 to 20")
        if self.context not in ("line", "stream"):
            raise InputError(f"model.context={self.context!r}: choose 'line' or 'stream'")
        if self.cutoffs and self.cutoffs[0] > 1:
            raise InputError(
                f"model.cutoffs={list(self.cutoffs)}: single words are always kept, so the first "
                "cutoff must be 0 or 1; to drop rare words, use text.min_count"
            )
        if any(count < 0 for count in self.cutoffs):
            raise InputError(f"model.cutoffs={list(self.cutoffs)}: must not be negative")
        if list(self.cutoffs) != sorted(self.cutoffs):
            raise InputError(
                f"model.cutoffs={list(self.cutoffs)}: must not decrease with the order, "
                "or n-grams would lose their prefixes"
            )

    def smoother(self) -> Smoother:
        """The smoother with its options, for one text."""
        return SMOOTHERS.choose(self.smoothing)(**self.options)


def estimate(
    ids: Array,
    config: NgramConfig,
    *,
    vocabulary_size: int,
    eos_id: int,
    progress: Callable[[str], None] = lambda what: None,
) -> Tables:
    """Fit a back-off model to a text."""
    progress("counting")
    levels = count_levels(
        ids,
        order=config.order,
        vocabulary_size=vocabulary_size,
        eos_id=eos_id,
        context=config.context,
    )
    return estimate_levels(
        levels, config, vocabulary_size=vocabulary_size, eos_id=eos_id, progress=progress
    )


def estimate_levels(
    levels: Iterable[Level],
    config: NgramConfig,
    *,
    vocabulary_size: int,
    eos_id: int,
    progress: Callable[[str], None] = lambda what: None,
) -> Tables:
    """Fit a back-off model to counted levels, lowest order first.

    An order is smoothed as soon as the next one is counted, and then freed.
    """
    builder = _Builder(config, vocabulary_size, eos_id)
    for index, level in enumerate(levels):
        builder.levels[index] = level
        del level  # the builder frees it
        if index > 0:
            progress(f"smoothing order {index}")
            builder.add_order(index - 1)
        is_last = index + 1 == config.order
        progress(f"smoothing order {index + 1}" if is_last else f"counting order {index + 2}")
    builder.add_order(config.order - 1)
    return builder.finish()


_AT_ONCE = 1 << 17  # n-grams smoothed at a time; their arrays fit into the cache of a processor
_FREED = Level(*(np.zeros(0, dtype=np.int32) for _ in fields(Level)))


class _Builder:
    """Combines the orders from the bottom up."""

    def __init__(self, config: NgramConfig, vocabulary_size: int, eos_id: int) -> None:
        self.levels = [_FREED] * config.order  # those in use
        self.smoother = config.smoother()
        self.config = config
        self.vocabulary_size = vocabulary_size
        self.eos_id = eos_id
        self.probs = np.full(1, 1 / vocabulary_size)  # of the order below; initially uniform
        self.tables: list[OrderTable] = []
        self.kept: list[Array] = []
        self.notes: list[str] = []
        self.fallbacks: dict[str, list[str]] = {}  # note to the orders that it concerns
        self.discounts: list[list[float]] = []

    def add_order(self, index: int) -> None:
        """Smooth the next order, and set the back-off weights of the order below."""
        level = self.levels[index]
        adjusted = self.smoother.adjusted_counts(
            self.levels, index, self.eos_id, self.config.context
        ).astype(np.int32)
        # Probabilities become logarithms in place when the next order no longer needs them.
        probs, nothing_follows = np.empty(len(level)), np.zeros(len(level))
        kept = np.ones(len(level), dtype=bool) if self.config.cutoffs else np.empty(0, dtype=bool)
        for chunk, counts in self._chunks(index, adjusted):
            weights = self.smoother.weigh(counts)
            if self.config.cutoffs:
                kept[chunk] = self._cut(index, chunk, weights, counts)
            shorter = self.probs.take(level.suffixes[chunk])
            probs[chunk], backoffs = self.smoother.combine(counts, weights, shorter)
            if index > 0:
                first = counts.first_context
                self.tables[-1].log_backoffs[first : first + len(backoffs)] = _log(backoffs)
        if index > 0:
            _log(self.probs, out=self.probs)
            self.levels[index - 1] = _FREED
        self.probs = probs
        self.tables.append(
            OrderTable(level.prefixes, level.words, probs, nothing_follows, adjusted)
        )
        self.kept.append(kept)
        self.discounts.append(list(weights.discounts))
        if weights.note:
            self.fallbacks.setdefault(weights.note, []).append(str(index + 1))

    def _chunks(self, index: int, adjusted: Array) -> Iterator[tuple[slice, Counts]]:
        """The n-grams of a few contexts at a time."""
        level, below = self.levels[index], self.levels[index - 1] if index else None
        contexts = 1 if below is None else len(below)

        @cache
        def counted(count: int) -> int:
            return int(np.count_nonzero(adjusted == count))

        first = begin = 0
        while True:
            last = min(first + _AT_ONCE, contexts)
            if begin + _AT_ONCE < len(level):
                last = min(last, int(level.prefixes[begin + _AT_ONCE]))
            last = min(max(last, first + 1), contexts)
            end = int(level.prefixes.searchsorted(np.int32(last)))
            chunk = slice(begin, end)
            nothing = np.zeros(1, dtype=np.int32)
            yield (
                chunk,
                Counts(
                    vocabulary_size=self.vocabulary_size,
                    counts=adjusted[chunk],
                    contexts=np.subtract(level.prefixes[chunk], first, dtype=np.intp),
                    shorter_contexts=nothing if below is None else below.suffixes[first:last],
                    is_longest=self._is_longest(index, first, last),
                    first_context=first,
                    counted=counted,
                ),
            )
            first, begin = last, end
            if first >= contexts:
                return

    def _is_longest(self, index: int, first: int, last: int) -> Array:
        """Whether contexts of an order are the longest possible ones."""
        highest = index == len(self.levels) - 1
        if index == 0:
            return np.array([highest])
        starts_line = self.levels[index - 1].firsts[first:last] == self.eos_id
        return (starts_line & (self.config.context == "line")) | highest

    def _cut(self, index: int, chunk: slice, weights: Weights, counts: Counts) -> Array:
        """Which n-grams to keep; the mass of the others goes to the shorter contexts."""
        cutoffs = self.config.cutoffs
        if index == 0:
            return np.ones(len(counts.counts), dtype=bool)
        smallest = cutoffs[min(index, len(cutoffs) - 1)]
        kept: Array = self.levels[index].counts[chunk] >= smallest
        weights.gamma += counts.sum(np.where(kept, 0.0, weights.alpha))
        weights.alpha[~kept] = 0.0
        return kept

    def finish(self) -> Tables:
        """The tables without the dropped n-grams, renumbered."""
        _log(self.probs, out=self.probs)
        self.levels = []
        if self.config.cutoffs:
            self._renumber()
        for note, orders in self.fallbacks.items():
            self.notes.append(f"order {', '.join(orders)}: {note}")
        empty = [str(order) for order, table in enumerate(self.tables, 1) if len(table) == 0]
        if empty:
            self.notes.append(f"there are no n-grams of order {', '.join(empty)} (after cutoffs)")
        return Tables(self.tables, self.vocabulary_size, self.eos_id, self.notes, self.discounts)

    def _renumber(self) -> None:
        renumbered = np.zeros(1, dtype=np.int64)
        for index, (table, kept) in enumerate(zip(self.tables, self.kept, strict=True)):
            assert table.counts is not None
            self.tables[index] = OrderTable(
                renumbered[table.prefixes[kept]],
                table.words[kept],
                table.log_probs[kept],
                table.log_backoffs[kept],
                table.counts[kept],
            )
            renumbered = np.cumsum(kept) - 1


def _log(values: Array, out: Array | None = None) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(values, out=out)
