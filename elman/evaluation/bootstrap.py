"""The paired bootstrap: is one model significantly better than another on the same examples?

Examples (lines, sentences, texts, questions) are drawn with replacement, the same ones for all
models (Koehn 2004). Nothing is scored again: a measure is a function of how often each example was
drawn, computed from counts per example.

    how often each example was drawn (draws, examples)  →  the measure of each draw (draws,)

Called by the comparison of runs; each task defines its measures.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from elman.errors import InputError

Values = Callable[[np.ndarray], np.ndarray]  # (draws, examples) → (draws,)
DRAWS = 1000
FEWEST = 10  # a bootstrap over fewer examples is meaningless
_LEVEL = 0.05  # of significance
_AT_ONCE = 4_000_000  # drawn numbers of examples held in memory
_ROUNDING = 1e-9  # relative; a smaller difference is rounding


@dataclass(frozen=True)
class Measure:
    """A measure of one model on examples that can be drawn again."""

    name: str
    values: Values
    higher_is_better: bool = True

    def value(self, examples: int) -> float:
        """The measure of all examples."""
        return float(self.values(np.ones((1, examples)))[0])


@dataclass(frozen=True)
class PairedBootstrap:
    """The second model compared with the first."""

    difference: float  # the measure of the second minus that of the first
    low: float  # 95 % of the draws lie between these two
    high: float
    p_value: float  # two-sided: share of draws on the other side of zero
    draws: int

    @property
    def significant(self) -> bool:
        """Whether the difference is too large for chance."""
        return self.p_value < _LEVEL


@dataclass(frozen=True)
class Resampled:
    """The measures of several models on the same draws."""

    values: np.ndarray  # (models, measures): of all examples
    drawn: np.ndarray  # (models, measures, draws)

    def interval(self, model: int, measure: int) -> tuple[float, float]:
        """95 % of the draws of a model lie between these two."""
        low, high = np.quantile(self.drawn[model, measure], [0.025, 0.975])
        return float(low), float(high)

    def compare(self, first: int, second: int, measure: int) -> PairedBootstrap:
        """Compare two models by a measure."""
        size = np.abs(self.drawn[first, measure])
        drawn = self.drawn[second, measure] - self.drawn[first, measure]
        drawn[np.abs(drawn) <= _ROUNDING * size] = 0.0
        difference = float(self.values[second, measure] - self.values[first, measure])
        low, high = np.quantile(drawn, [0.025, 0.975])
        # One extra draw on the wrong side: a p-value is never exactly zero.
        other_side = min(np.count_nonzero(drawn >= 0), np.count_nonzero(drawn <= 0))
        p_value = min(1.0, float(2 * (other_side + 1) / (len(drawn) + 1)))
        return PairedBootstrap(difference, float(low), float(high), p_value, len(drawn))


def resample(
    models: Sequence[Sequence[Measure]], examples: int, draws: int = DRAWS, seed: int = 0
) -> Resampled:
    """Measure every model on the same draws; all have the same measures."""
    if draws < 1:
        raise InputError(f"draws={draws}: must be at least 1")
    values = [[measure.value(examples) for measure in measures] for measures in models]
    drawn = np.empty((len(models), len(models[0]), draws))
    start = 0
    for weights in _draw(examples, draws, seed):
        end = start + len(weights)
        for row, measures in enumerate(models):
            for column, measure in enumerate(measures):
                drawn[row, column, start:end] = measure.values(weights)
        start = end
    return Resampled(np.array(values), drawn)


def _draw(examples: int, draws: int, seed: int) -> Iterator[np.ndarray]:
    """How often each example was drawn, (some draws, examples)."""
    random = np.random.default_rng(seed)
    at_once = max(1, _AT_ONCE // examples)
    for start in range(0, draws, at_once):
        size = min(at_once, draws - start)
        numbers = random.integers(0, examples, (size, examples))
        numbers += np.arange(size)[:, None] * examples
        counts = np.bincount(numbers.ravel(), minlength=size * examples)
        yield counts.reshape(size, examples).astype(np.float64)


def paired_bootstrap(
    first: np.ndarray, second: np.ndarray, draws: int = DRAWS, seed: int = 0
) -> PairedBootstrap:
    """Compare two models by a sum over examples, such as the nats of each line of a text."""
    measures = [[Measure("sum", total_of(numbers))] for numbers in (first, second)]
    return resample(measures, len(first), draws, seed).compare(0, 1, 0)


# Measures -----------------------------------------------------------------------------------------


def total_of(numbers: Sequence[float] | np.ndarray) -> Values:
    """The sum of a number per example."""
    of_each = np.asarray(numbers, dtype=np.float64)
    # Unlike a matrix product, the rounding of a row does not depend on the other rows.
    return lambda weights: (weights * of_each).sum(axis=1)


def share_of(parts: Sequence[float] | np.ndarray, wholes: Sequence[float] | np.ndarray) -> Values:
    """The sum of the parts divided by the sum of the wholes; 0 where there are none."""
    part, whole = total_of(parts), total_of(wholes)
    return lambda weights: _divide(part(weights), whole(weights))


def mean_of(numbers: Sequence[float] | np.ndarray) -> Values:
    """The mean of a number per example."""
    return share_of(numbers, np.ones(len(numbers)))


def formula_of(counts: np.ndarray, formula: Callable[[list[int]], float]) -> Values:
    """A formula of sums of counts, such as BLEU; `counts`: (examples, counts)."""
    of_each = np.asarray(counts, dtype=np.float64)

    def values(weights: np.ndarray) -> np.ndarray:
        sums = np.rint(weights @ of_each).astype(np.int64)
        return np.array([formula(row) for row in sums.tolist()])

    return values


def macro_f1_of(right: Sequence[str], guessed: Sequence[str]) -> Values:
    """The mean F1 over all labels that occur or are predicted in a draw."""
    names = {name: number for number, name in enumerate(sorted({*right, *guessed}))}
    truth = np.array([names[label] for label in right])
    guess = np.array([names[label] for label in guessed])
    hits = truth == guess

    def count(labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """(draws, labels)."""
        draws = len(weights)
        places = labels + np.arange(draws)[:, None] * len(names)
        found = np.bincount(places.ravel(), weights.ravel(), minlength=draws * len(names))
        return found.reshape(draws, len(names))

    def values(weights: np.ndarray) -> np.ndarray:
        both = count(truth, weights) + count(guess, weights)
        f1 = _divide(2 * count(truth[hits], weights[:, hits]), both)
        return _divide(f1.sum(1), (both > 0).sum(1))

    return values


def _divide(parts: np.ndarray, wholes: np.ndarray) -> np.ndarray:
    return np.divide(parts, wholes, out=np.zeros_like(parts), where=wholes > 0)
