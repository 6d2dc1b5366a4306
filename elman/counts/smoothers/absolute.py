"""One discount for all counts; back off when unseen (Ney, Essen and Kneser 1994)."""

from elman.counts.smoothers.discounts import one_discount
from elman.counts.smoothers.smoother import Counts, Smoother, Weights


class Absolute(Smoother):
    """p = (count - D) / total if seen."""

    about = "one discount, back off when unseen"
    interpolated = False

    def weigh(self, counts: Counts) -> Weights:
        return one_discount(counts)
