"""Kneser and Ney (1995), interpolated: a word counts in as many ways as it has continued."""

import numpy as np

from elman.counts.counting import Level
from elman.counts.smoothers.discounts import one_discount
from elman.counts.smoothers.smoother import Array, Counts, Smoother, Weights


class KneserNey(Smoother):
    """p = (count - D) / total + gamma p_shorter, with adjusted counts below the highest order."""

    about = "interpolated, one discount per order"
    interpolated = True

    def adjusted_counts(self, levels: list[Level], index: int, eos_id: int, context: str) -> Array:
        """Of how many different words an n-gram was the continuation.

        The highest order keeps its counts, and so does an n-gram that starts a line: with contexts
        that stop at lines nothing can stand before it, and in a stream it is what a text begins
        with, when nothing longer is known. (An n-gram at the very start of a stream counts as one.)
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

    def weigh(self, counts: Counts) -> Weights:
        return one_discount(counts)
