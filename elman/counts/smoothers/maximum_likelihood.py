"""Relative frequencies, without any smoothing: both sparsity problems show.

count(context w) = 0    the word has probability zero after this context
count(context)   = 0    0 / 0: after this context, no probability is defined
"""

from elman.counts.smoothers.smoother import Counts, Smoother, Weights, relative_frequencies


class MaximumLikelihood(Smoother):
    """p = count(context w) / count(context)."""

    about = "relative frequencies; the unseen is impossible, after unseen contexts undefined"
    interpolated = True
    defined_if_unseen = False

    def weigh(self, counts: Counts) -> Weights:
        return relative_frequencies(counts)
