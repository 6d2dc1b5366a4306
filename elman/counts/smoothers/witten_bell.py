"""The more different words have followed a context, the more room for new ones."""

import numpy as np

from elman.counts.smoothers.smoother import Counts, Smoother, Weights


class WittenBell(Smoother):
    """p = (count + T p_shorter) / (total + T), T distinct words having followed the context."""

    about = "weight by how many words have followed a context"
    interpolated = True

    def weigh(self, counts: Counts) -> Weights:
        types = counts.sum((counts.counts > 0).astype(float))
        totals = counts.totals() + types
        gamma = np.divide(types, totals, out=np.ones_like(totals), where=totals > 0)
        alpha = counts.counts / np.maximum(totals, 1)[counts.contexts]
        return Weights(alpha, gamma)
