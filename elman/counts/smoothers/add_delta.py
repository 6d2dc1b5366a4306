"""The same amount added to every count: Laplace for one, Lidstone for less."""

import math

import numpy as np

from elman.counts.smoothers.smoother import Counts, Smoother, Weights
from elman.errors import InputError


class AddDelta(Smoother):
    """p = (count + delta) / (total + delta V).

    As a mixture: the rest goes to the uniform distribution, so contexts that are not the longest
    possible pass it through unchanged.
    """

    about = "Laplace (delta 1) and Lidstone"
    interpolated = True

    def __init__(self, *, delta: float = 1.0) -> None:
        if not 0 < delta < math.inf:
            raise InputError(f"model.options.delta={delta}: must be above 0 (1 is Laplace)")
        self.delta = delta

    def weigh(self, counts: Counts) -> Weights:
        added = self.delta * counts.vocabulary_size
        totals = counts.totals() + added
        shares = counts.counts / totals[counts.contexts]
        return Weights(
            np.where(counts.is_longest[counts.contexts], shares, 0),
            np.where(counts.is_longest, added / totals, 1.0),
        )
