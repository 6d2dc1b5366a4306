"""Kneser-Ney with three discounts per order (Chen and Goodman 1999)."""

from elman.counts.smoothers.discounts import discounted, fixed_discounts
from elman.counts.smoothers.kneser_ney import KneserNey
from elman.counts.smoothers.smoother import Counts, Weights


class ModifiedKneserNey(KneserNey):
    """Discounts for counts 1, 2 and 3 or more (equation 26).

    Y = n1 / (n1 + 2 n2), D1 = 1 - 2 Y n2/n1, D2 = 2 - 3 Y n3/n2, D3+ = 3 - 4 Y n4/n3.
    """

    about = "interpolated, three discounts per order"

    def weigh(self, counts: Counts) -> Weights:
        n1, n2, n3, n4 = (counts.number_with(count) for count in (1, 2, 3, 4))
        if 0 in (n1, n2, n3, n4):
            return fixed_discounts(counts)
        y = n1 / (n1 + 2 * n2)
        discounts = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
        if any(not 0 <= discount <= most for most, discount in enumerate(discounts, 1)):
            return fixed_discounts(counts)
        return discounted(counts, discounts)
