"""Relative frequencies: what was not seen is impossible."""

from elman.counts.smoothers.smoother import Counts, Smoother, Weights, relative_frequencies


class MaximumLikelihood(Smoother):
    """p = count(context w) / count(context)."""

    about = "relative frequencies; the unseen is impossible"
    interpolated = True

    def weigh(self, counts: Counts) -> Weights:
        return relative_frequencies(counts)
