"""How counts become probabilities: the smoothers, each two numbers per n-gram and context.

Takes the levels of counting, gives tables. A smoother looks at one level and says

    alpha   what each n-gram keeps of its context's probability,
    gamma   what each context hands down to shorter ones (or to unseen words),

and `combine` puts the orders together from the bottom up:

    interpolate   p = alpha + gamma * p_shorter                     every word
    back off      p = alpha if seen, else gamma' * p_shorter        gamma' makes it sum to one

Formulas: Chen and Goodman (1999), "An empirical study of smoothing techniques for language
modeling"; Heafield et al. (2013) for Kneser-Ney as one pass over adjusted counts.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from elman.counts.counting import Level

Array = np.ndarray
# KenLM offers the same values where discounts cannot be estimated.
FALLBACK_DISCOUNTS = (0.5, 1.0, 1.5)


@dataclass
class Counts:
    """One level as a smoother sees it."""

    order: int
    vocabulary_size: int
    counts: Array  # raw or adjusted, as the smoother asked
    contexts: Array  # number of the context of each n-gram
    is_longest: Array  # per context: nothing longer can be read, as it is full or starts a line

    @property
    def number_of_contexts(self) -> int:
        return len(self.is_longest)

    def sum(self, values: Array) -> Array:
        """Sum of a value per n-gram over each context."""
        sums = np.bincount(self.contexts, weights=values, minlength=self.number_of_contexts)
        return sums.astype(float)  # of no n-grams at all, numpy gives integers

    def number_with(self, count: int) -> int:
        """How many n-grams have exactly this count."""
        return int(np.count_nonzero(self.counts == count))


@dataclass
class Weights:
    """What a smoother says of one level."""

    alpha: Array  # per n-gram
    gamma: Array  # per context
    discounts: tuple[float, ...] = ()
    note: str = ""


def _per_context(counts: Counts, numerator: Array, empty: float) -> Array:
    """numerator / total count of each context; `empty` for contexts that nothing follows."""
    totals = counts.sum(counts.counts)
    return np.divide(numerator, totals, out=np.full_like(totals, empty), where=totals > 0)


def _keep_all(counts: Counts) -> Array:
    """Relative frequency of each n-gram in its context."""
    return (
        counts.counts
        * _per_context(counts, np.ones(counts.number_of_contexts), 0.0)[counts.contexts]
    )


def maximum_likelihood(counts: Counts) -> Weights:
    """p = count(context w) / count(context); nothing is left for what was not seen."""
    return Weights(_keep_all(counts), (counts.sum(counts.counts) == 0).astype(float))


def add_delta(counts: Counts, delta: float = 1.0) -> Weights:
    """p = (count + delta) / (total + delta V): Laplace for delta 1, Lidstone below.

    As a mixture: the rest goes to the uniform distribution, so contexts that are not the longest
    possible pass it through unchanged.
    """
    totals = counts.sum(counts.counts) + delta * counts.vocabulary_size
    alpha = np.where(counts.is_longest[counts.contexts], counts.counts / totals[counts.contexts], 0)
    return Weights(alpha, np.where(counts.is_longest, delta * counts.vocabulary_size / totals, 1.0))


def witten_bell(counts: Counts) -> Weights:
    """p = (count + T p_shorter) / (total + T), T distinct words having followed the context."""
    types = counts.sum((counts.counts > 0).astype(float))
    totals = counts.sum(counts.counts) + types
    gamma = np.divide(types, totals, out=np.ones_like(totals), where=totals > 0)
    shares = counts.counts / np.maximum(totals, 1)[counts.contexts]
    return Weights(shares, gamma)


def _discounted(counts: Counts, discounts: tuple[float, ...], note: str) -> Weights:
    """alpha = (count - D[count]) / total; the last discount serves all larger counts."""
    by_count = np.array([0.0, *discounts])
    taken = by_count[np.minimum(counts.counts, len(discounts))]
    gamma = _per_context(counts, counts.sum(taken), 1.0)
    shares = _per_context(counts, np.ones(counts.number_of_contexts), 0.0)
    return Weights((counts.counts - taken) * shares[counts.contexts], gamma, discounts, note)


def one_discount(counts: Counts) -> Weights:
    """One discount D = n1 / (n1 + 2 n2) for all counts (Ney, Essen and Kneser 1994)."""
    once, twice = counts.number_with(1), counts.number_with(2)
    if once == 0 or twice == 0:
        return _discounted(counts, FALLBACK_DISCOUNTS[:1], _fallback_note(1))
    return _discounted(counts, (once / (once + 2 * twice),), "")


def three_discounts(counts: Counts) -> Weights:
    """Discounts for counts 1, 2 and 3 or more (Chen and Goodman 1999, equation 26).

    Y = n1 / (n1 + 2 n2), D1 = 1 - 2 Y n2/n1, D2 = 2 - 3 Y n3/n2, D3+ = 3 - 4 Y n4/n3.
    """
    n1, n2, n3, n4 = (counts.number_with(count) for count in (1, 2, 3, 4))
    if 0 in (n1, n2, n3, n4):
        return _discounted(counts, FALLBACK_DISCOUNTS, _fallback_note(3))
    y = n1 / (n1 + 2 * n2)
    discounts = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
    if any(not 0 <= discount <= most for discount, most in zip(discounts, (1, 2, 3), strict=False)):
        return _discounted(counts, FALLBACK_DISCOUNTS, _fallback_note(3))
    return _discounted(counts, discounts, "")


def _fallback_note(how_many: int) -> str:
    values = ", ".join(f"{value:g}" for value in FALLBACK_DISCOUNTS[:how_many])
    return f"the counts of so small a text give no usable discounts; fixed ones ({values}) are used"


def good_turing(counts: Counts, largest: int = 5) -> Weights:
    """Katz (1987): counts r up to 5 become d_r r with d_r from the Good-Turing estimate.

    d_r = (r*/r - A) / (1 - A), r* = (r + 1) n_{r+1} / n_r, A = (largest + 1) n_{largest+1} / n_1.
    """
    seen = [counts.number_with(count) for count in range(1, largest + 2)]
    if 0 in seen:
        return _discounted(counts, FALLBACK_DISCOUNTS, _fallback_note(3))
    tail = (largest + 1) * seen[largest] / seen[0]
    ratios = [(r + 1) * seen[r] / (r * seen[r - 1]) for r in range(1, largest + 1)]
    discounts = tuple(r * (1 - (ratio - tail) / (1 - tail)) for r, ratio in enumerate(ratios, 1))
    if tail >= 1 or any(not 0 < discount < r for r, discount in enumerate(discounts, 1)):
        return _discounted(counts, FALLBACK_DISCOUNTS, _fallback_note(3))
    return _never_empty(counts, _discounted(counts, (*discounts, 0.0), ""))


def _never_empty(counts: Counts, weights: Weights) -> Weights:
    """Where only large counts follow a context nothing was taken: count one word more than seen.

    Without this, a word never seen after such a context would be impossible.
    """
    totals = counts.sum(counts.counts)
    empty = weights.gamma == 0
    weights.alpha = np.where(
        empty[counts.contexts], counts.counts / (totals + 1)[counts.contexts], weights.alpha
    )
    weights.gamma = np.where(empty, 1 / (totals + 1), weights.gamma)
    return weights


@dataclass(frozen=True)
class Smoother:
    """A smoother: how it weighs one level, and how the levels go together."""

    weigh: Callable[..., Weights]
    combine: str  # "interpolate", "back off" or "score" (stupid backoff)
    about: str
    adjusted: bool = False  # lower orders count distinct left neighbours, as Kneser-Ney does
    parameter: str = ""  # name of the configuration field it takes


def adjusted_counts(levels: list[Level], index: int, eos_id: int, context: str) -> Array:
    """Counts for Kneser-Ney: of how many different words an n-gram was the continuation.

    The highest order keeps its counts, and so does an n-gram that starts a line: with contexts that
    stop at lines nothing can stand before it, and in a stream it is what a text begins with, when
    nothing longer is known. (An n-gram at the very start of a stream counts as one.)
    """
    level = levels[index]
    if index == len(levels) - 1:
        return level.counts
    left_neighbours = np.bincount(levels[index + 1].suffixes, minlength=len(level))
    if context == "stream":
        left_neighbours = np.maximum(left_neighbours, np.minimum(level.counts, 1))
    if index == 0:
        return left_neighbours
    return np.where(level.firsts == eos_id, level.counts, left_neighbours)


SMOOTHERS = {
    "maximum-likelihood": Smoother(
        maximum_likelihood, "interpolate", "relative frequencies; the unseen is impossible"
    ),
    "add-delta": Smoother(
        add_delta, "interpolate", "Laplace (delta 1) and Lidstone", parameter="delta"
    ),
    "witten-bell": Smoother(
        witten_bell, "interpolate", "weight by how many words have followed a context"
    ),
    "stupid-backoff": Smoother(
        maximum_likelihood, "score", "Brants et al. 2007; its scores are normalised here"
    ),
    "katz": Smoother(good_turing, "back off", "Good-Turing discounts, back off when unseen"),
    "absolute": Smoother(one_discount, "back off", "one discount, back off when unseen"),
    "kneser-ney": Smoother(
        one_discount, "interpolate", "interpolated, one discount per order", adjusted=True
    ),
    "modified-kneser-ney": Smoother(
        three_discounts, "interpolate", "interpolated, three discounts per order", adjusted=True
    ),
}
