"""Katz (1987): small counts become those of the Good-Turing estimate; back off when unseen."""

import numpy as np

from elman.counts.smoothers.discounts import discounted, fixed_discounts
from elman.counts.smoothers.smoother import Counts, Smoother, Weights

_LARGEST = 5  # count that is discounted; larger ones are reliable


class Katz(Smoother):
    """Counts r up to `_LARGEST`, k, become d_r r with d_r from the Good-Turing estimate.

    d_r = (r*/r - A) / (1 - A), r* = (r + 1) n_{r+1} / n_r, A = (k + 1) n_{k+1} / n_1.
    """

    about = "Good-Turing discounts, back off when unseen"
    interpolated = False

    def weigh(self, counts: Counts) -> Weights:
        seen = [counts.number_with(count) for count in range(1, _LARGEST + 2)]
        if 0 in seen:
            return fixed_discounts(counts)
        tail = (_LARGEST + 1) * seen[_LARGEST] / seen[0]
        if tail >= 1:
            return fixed_discounts(counts)
        ratios = [(r + 1) * seen[r] / (r * seen[r - 1]) for r in range(1, _LARGEST + 1)]
        discounts = tuple(
            r * (1 - (ratio - tail) / (1 - tail)) for r, ratio in enumerate(ratios, 1)
        )
        if any(not 0 < discount < r for r, discount in enumerate(discounts, 1)):
            return fixed_discounts(counts)
        return _never_empty(counts, discounted(counts, (*discounts, 0.0)))


def _never_empty(counts: Counts, weights: Weights) -> Weights:
    """Where only large counts follow a context nothing was taken: count one word more than seen.

    Without this, a word never seen after such a context would be impossible.
    """
    totals = counts.totals()
    empty = weights.gamma == 0
    weights.alpha = np.where(
        empty[counts.contexts], counts.counts / (totals + 1)[counts.contexts], weights.alpha
    )
    weights.gamma = np.where(empty, 1 / (totals + 1), weights.gamma)
    return weights
