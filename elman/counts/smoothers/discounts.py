"""Something taken off each count, for what was never seen: what several smoothers share.

Takes the counts of one order and a discount per count, gives their weights. Where a text is too
small to estimate discounts from, fixed ones are used, and a note says so.
"""

import numpy as np

from elman.counts.smoothers.smoother import Counts, Weights

# KenLM offers the same values where discounts cannot be estimated.
_FIXED_DISCOUNTS = (0.5, 1.0, 1.5)


def discounted(counts: Counts, discounts: tuple[float, ...], note: str = "") -> Weights:
    """alpha = (count - D[count]) / total; the last discount serves all larger counts."""
    by_count = np.array([0.0, *discounts])
    taken = by_count[np.minimum(counts.counts, len(discounts))]
    gamma = counts.per_total(counts.sum(taken), if_empty=1.0)
    alpha = (counts.counts - taken) * counts.shares()[counts.contexts]
    return Weights(alpha, gamma, discounts, note)


def fixed_discounts(counts: Counts, how_many: int = 3) -> Weights:
    """As above with fixed discounts, and a note that they are fixed."""
    discounts = _FIXED_DISCOUNTS[:how_many]
    values = ", ".join(f"{value:g}" for value in discounts)
    return discounted(
        counts,
        discounts,
        f"the counts of so small a text give no usable discounts; fixed ones ({values}) are used",
    )


def one_discount(counts: Counts) -> Weights:
    """One discount D = n1 / (n1 + 2 n2) for all counts (Ney, Essen and Kneser 1994)."""
    once, twice = counts.number_with(1), counts.number_with(2)
    if once == 0 or twice == 0:
        return fixed_discounts(counts, how_many=1)
    return discounted(counts, (once / (once + 2 * twice),))
