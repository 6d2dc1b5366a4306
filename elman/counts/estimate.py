"""Fit a back-off model to a text: count, smooth each order, combine the orders, apply cutoffs.

Takes ids and the settings, gives `Tables`; called by the n-gram model.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from elman.counts.counting import Level, count_ngrams
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
    levels = count_ngrams(
        ids,
        order=config.order,
        vocabulary_size=vocabulary_size,
        eos_id=eos_id,
        context=config.context,
    )
    builder = _Builder(levels, config, vocabulary_size, eos_id)
    for index in range(config.order):
        progress(f"smoothing order {index + 1}")
        builder.add_order(index)
    return builder.finish()


class _Builder:
    """Combines the orders from the bottom up."""

    def __init__(
        self,
        levels: list[Level],
        config: NgramConfig,
        vocabulary_size: int,
        eos_id: int,
    ) -> None:
        self.levels = levels
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
        counts = self._counts(index)
        weights = self.smoother.weigh(counts)
        kept = self._cut(index, weights, counts)
        probs, backoffs = self.smoother.combine(counts, weights, self.probs[level.suffixes])
        if index > 0:
            self.tables[-1].log_backoffs = _log(backoffs)
        log_probs = _log(probs)
        nothing_follows = np.zeros(len(level))
        small_counts = counts.counts.astype(np.int32)
        self.tables.append(
            OrderTable(level.prefixes, level.words, log_probs, nothing_follows, small_counts)
        )
        self.kept.append(kept)
        self.probs = probs
        self.discounts.append(list(weights.discounts))
        if weights.note:
            self.fallbacks.setdefault(weights.note, []).append(str(index + 1))

    def _counts(self, index: int) -> Counts:
        level = self.levels[index]
        return Counts(
            vocabulary_size=self.vocabulary_size,
            counts=self.smoother.adjusted_counts(
                self.levels, index, self.eos_id, self.config.context
            ),
            contexts=level.prefixes,
            shorter_contexts=self.levels[index - 1].suffixes if index else np.zeros(1, np.int64),
            is_longest=self._is_longest(index),
        )

    def _is_longest(self, index: int) -> Array:
        """Whether each context of an order is the longest possible one."""
        highest = index == len(self.levels) - 1
        if index == 0:
            return np.array([highest])
        below = self.levels[index - 1]
        starts_line = (below.firsts == self.eos_id) & (self.config.context == "line")
        return starts_line | highest

    def _cut(self, index: int, weights: Weights, counts: Counts) -> Array:
        """Which n-grams to keep; the mass of the others goes to the shorter contexts."""
        cutoffs = self.config.cutoffs
        if index == 0 or not cutoffs:
            return np.ones(len(self.levels[index]), dtype=bool)
        smallest = cutoffs[min(index, len(cutoffs) - 1)]
        kept = self.levels[index].counts >= smallest
        weights.gamma += counts.sum(np.where(kept, 0.0, weights.alpha))
        weights.alpha[~kept] = 0.0
        return kept

    def finish(self) -> Tables:
        """The tables without the dropped n-grams, renumbered."""
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


def _log(values: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(values)
