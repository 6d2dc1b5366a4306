"""Frequencies, and a fixed penalty for each word of context that has to go."""

import numpy as np

from elman.counts.smoothers.smoother import Array, Counts, Smoother, Weights, relative_frequencies
from elman.errors import InputError


class StupidBackoff(Smoother):
    """Brants et al. (2007), each context divided by the sum Z of its scores.

    score(w) = frequency if seen, else backoff * score(w | shorter). So with p = score / Z:
    Z = 1 + backoff * (Z_shorter - sum over seen w of score(w | shorter)).
    """

    about = "Brants et al. 2007; its scores are normalised here"
    interpolated = False

    def __init__(self, *, backoff: float = 0.4) -> None:
        if not 0 < backoff <= 1:
            raise InputError(f"model.options.backoff={backoff}: must be above 0 and at most 1")
        self.backoff = backoff
        self._score_sums = np.ones(1)  # Z per context of the order below

    def weigh(self, counts: Counts) -> Weights:
        return relative_frequencies(counts)

    def combine(self, counts: Counts, weights: Weights, shorter: Array) -> tuple[Array, Array]:
        shorter_sums = self._score_sums[counts.shorter_contexts]
        seen = weights.alpha > 0
        kept = counts.sum(weights.alpha)
        unseen = shorter_sums * (1 - counts.sum(np.where(seen, shorter, 0.0)))
        penalty = np.where(kept > 0, self.backoff, 1.0)  # none where nothing follows
        self._score_sums = kept + penalty * unseen
        backoffs = penalty * shorter_sums / self._score_sums
        probs = np.where(
            seen,
            weights.alpha / self._score_sums[counts.contexts],
            backoffs[counts.contexts] * shorter,
        )
        return probs, backoffs
