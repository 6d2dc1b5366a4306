"""Learn how much to trust each relative frequency of a sparse matrix model, leaving one out.

Takes counted features (`skip_grams.py`), gives the same tables with weights. The model (Shazeer,
Pelemans and Chelba 2015) adds up the rows of the features f that hold before a word:

    p(w) = Σ_f M_fw / Σ_f Σ_v M_fv          M_fw = exp(A_fw) · count(f, w) / count(f)

    A_fw = cell(kind of f, size of count(f), size of count(f, w)) + word(kind, w) + feature(f)

Counts are grouped by `SIZES`, roughly powers of two. Counts that include the predicted word would
make every prediction look certain, so each occurrence is left out when it is predicted: the counts
are count(f) - 1 and count(f, w) - 1, also in the cell of A. A feature that occurs once then
predicts nothing. The adjustments A minimise the nats of the text by full-batch gradient steps
(Adam); a Gaussian prior keeps `word` and `feature` near zero.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from elman.counts.skip_grams import CountedFeatures, FeatureTable

Array = np.ndarray
# The least count of each size: exact for small counts, which are the most frequent.
SIZES = np.array([1, 2, 3, 4, 5, 7, 10, 15, 23, 40, 80, 160, 400, 1000, 4000, 20000])
_CELLS = len(SIZES) ** 2
_RATE = 0.15  # of the first half of the steps; it then falls to zero
_FIRST = 0.5  # initial adjustment per word of a feature: longer contexts know more
_UNIFORM = -3.0  # initial logarithm of the weight of the uniform distribution


@dataclass(frozen=True)
class Adjusted:
    """The trained weights."""

    tables: list[FeatureTable]  # their values are the M_fw
    uniform: float  # the weight of the uniform distribution, which every word takes part in
    perplexity: float  # of the text, each word left out


def learn_adjustments(
    counted: Sequence[CountedFeatures],
    tokens: int,
    *,
    vocabulary_size: int,
    steps: int,
    prior: float,
    progress: Callable[[str], None] = lambda what: None,
) -> Adjusted:
    """Fit the adjustments to the text that was counted; `prior` is the precision of the prior."""
    kinds = [_Kind.of(one, vocabulary_size) for one in counted]
    uniform = np.array([_UNIFORM])
    optimizer = _Adam([uniform, *(array for kind in kinds for array in kind.adjustments)])
    nats = 0.0
    for step in range(steps):
        progress(f"adjusting: step {step + 1} of {steps}")
        own = np.full(tokens, np.exp(uniform[0]) / vocabulary_size)  # Σ_f M_fw
        all_words = np.full(tokens, np.exp(uniform[0]))  # Σ_f Σ_v M_fv
        for kind in kinds:
            kind.add(own, all_words)
        nats = float((np.log(all_words) - np.log(own)).sum())
        by_own, by_all = -1 / own, 1 / all_words
        of_uniform = np.exp(uniform) * (by_own.sum() / vocabulary_size + by_all.sum())
        gradients = [of_uniform]
        for kind in kinds:
            gradients += kind.gradients(by_own, by_all, prior)
        optimizer.step(gradients, _RATE * min(1.0, 2 * (1 - step / steps)))
    tables = [kind.weighted(one.table) for kind, one in zip(kinds, counted, strict=True)]
    perplexity = float(np.exp(nats / max(tokens, 1)))
    return Adjusted(tables, float(np.exp(uniform[0])), perplexity)


def size_of(counts: Array) -> Array:
    """The number of the size of each count, 0 for those below one."""
    return np.maximum(np.searchsorted(SIZES, counts, side="right") - 1, 0)


@dataclass
class _Kind:
    """The features of one kind that occur at least twice, and their adjustments."""

    places: Array  # in the text
    entries: Array  # at these places
    words: Array  # of each entry
    features: Array  # of each entry, numbered from zero
    numbers: Array  # of these features in the table
    counts: Array  # of each entry
    others: Array  # of each entry: count of the feature, without one
    cells: Array  # of each entry, its feature without one
    cells_left: Array  # of each entry, both without one
    adjustments: tuple[Array, Array, Array]  # by cell, by word, by feature
    values: tuple[Array, Array] | None = None  # count · exp(A) of each entry, whole and without one

    @classmethod
    def of(cls, counted: CountedFeatures, vocabulary_size: int) -> "_Kind":
        table = counted.table
        features, totals = table.features, np.asarray(table.totals, dtype=np.int64)
        kept = totals[features] > 1
        numbers, within = np.unique(features[kept], return_inverse=True)
        renumbered = np.cumsum(kept) - 1
        at = kept[counted.entries]
        counts = table.values[kept]
        others = totals[features[kept]] - 1
        row = size_of(others) * len(SIZES)
        adjustments = (
            np.full(_CELLS, _FIRST * len(table.offsets)),
            np.zeros(vocabulary_size),
            np.zeros(len(numbers)),
        )
        return cls(
            places=counted.places[at],
            entries=renumbered[counted.entries[at]].astype(np.int32),
            words=table.words[kept],
            features=within.astype(np.int32),
            numbers=numbers,
            counts=counts.astype(np.float32),
            others=others.astype(np.float32),
            cells=(row + size_of(counts)).astype(np.int32),
            cells_left=(row + size_of(counts - 1)).astype(np.int32),
            adjustments=adjustments,
        )

    def add(self, own: Array, all_words: Array) -> None:
        """Add what the features of this kind give to each word of the text, and to all words."""
        by_cell, by_word, by_feature = (np.exp(one, dtype=np.float32) for one in self._single())
        factors = by_word[self.words] * by_feature[self.features]
        whole = self.counts * by_cell[self.cells] * factors
        left = (self.counts - 1) * by_cell[self.cells_left] * factors
        sums = np.bincount(self.features, whole, len(self.numbers))
        own[self.places] += (left / self.others)[self.entries]
        every = (sums[self.features] - whole + left) / self.others
        all_words[self.places] += every[self.entries]
        self.values = whole, left

    def _single(self) -> tuple[Array, ...]:
        return tuple(one.astype(np.float32) for one in self.adjustments)

    def gradients(self, by_own: Array, by_all: Array, prior: float) -> list[Array]:
        """The derivatives of the nats by the adjustments, from those by the two sums of `add`."""
        assert self.values is not None
        whole, left = self.values
        count = len(self.counts)
        to_own = np.bincount(self.entries, by_own[self.places], count)
        to_all = np.bincount(self.entries, by_all[self.places], count)
        in_row = np.bincount(self.features, to_all, len(self.numbers))
        of_whole = (in_row[self.features] - to_all) / self.others * whole
        of_left = (to_own + to_all) / self.others * left
        both = of_whole + of_left
        _, words, features = self.adjustments
        return [
            np.bincount(self.cells, of_whole, _CELLS)
            + np.bincount(self.cells_left, of_left, _CELLS),
            np.bincount(self.words, both, len(words)) + prior * words,
            np.bincount(self.features, both, len(features)) + prior * features,
        ]

    def weighted(self, table: FeatureTable) -> FeatureTable:
        """The table with adjusted relative frequencies as values, nothing left out."""
        by_cell, by_word, by_feature = self.adjustments
        of_feature = np.zeros(len(table))
        of_feature[self.numbers] = by_feature
        features, totals = table.features, table.totals
        cells = size_of(totals)[features] * len(SIZES) + size_of(table.values)
        adjustment = by_cell[cells] + by_word[table.words] + of_feature[features]
        weights = np.exp(adjustment) * table.values / totals[features]
        return replace(table, values=weights.astype(np.float32))


class _Adam:
    """Gradient steps of about equal size for all parameters (Kingma and Ba 2015)."""

    def __init__(self, parameters: Sequence[Array], slow: float = 0.8, scale: float = 0.95) -> None:
        self.parameters = parameters
        self.decays = slow, scale
        self.means = [np.zeros_like(array) for array in parameters]
        self.squares = [np.zeros_like(array) for array in parameters]
        self.steps = 0

    def step(self, gradients: Sequence[Array], rate: float) -> None:
        """Change the parameters in place."""
        self.steps += 1
        (slow, scale), steps = self.decays, self.steps
        for array, mean, square, gradient in zip(
            self.parameters, self.means, self.squares, gradients, strict=True
        ):
            mean += (1 - slow) * (gradient - mean)
            square += (1 - scale) * (gradient**2 - square)
            size = np.sqrt(square / (1 - scale**steps)) + 1e-8
            array -= rate * mean / (1 - slow**steps) / size
