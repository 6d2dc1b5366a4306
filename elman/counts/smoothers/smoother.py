"""What every smoother is: two numbers per n-gram and context, and how the orders go together.

Takes the counts of one order, gives probabilities. A smoother says

    alpha   what each n-gram keeps of its context's probability,
    gamma   what each context hands down to shorter ones (or to unseen words),

and the orders are put together from the bottom up, in one of two ways:

    interpolated   p = alpha + gamma * p_shorter                     every word
    backing off    p = alpha if seen, else gamma' * p_shorter        gamma' makes it sum to one
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from elman.counts.counting import Level

Array = np.ndarray


@dataclass
class Counts:
    """The n-grams of one order as a smoother sees them."""

    vocabulary_size: int
    counts: Array  # of each n-gram, as the smoother counts
    contexts: Array  # number of the context of each n-gram
    shorter_contexts: Array  # per context: its number, one order down, without its first word
    is_longest: Array  # per context: nothing longer can be read, as it is full or starts a line

    @property
    def number_of_contexts(self) -> int:
        return len(self.is_longest)

    def sum(self, values: Array) -> Array:
        """Sum of a value per n-gram over each context."""
        sums = np.bincount(self.contexts, weights=values, minlength=self.number_of_contexts)
        return sums.astype(float)  # of no n-grams at all, numpy gives integers

    def totals(self) -> Array:
        """How often each context was followed by anything."""
        return self.sum(self.counts)

    def shares(self) -> Array:
        """One over the total of each context; 0 where nothing follows."""
        return self.per_total(np.ones(self.number_of_contexts), if_empty=0.0)

    def per_total(self, values: Array, if_empty: float) -> Array:
        """A value per context divided by its total; `if_empty` where nothing follows."""
        totals = self.totals()
        return np.divide(values, totals, out=np.full_like(totals, if_empty), where=totals > 0)

    def number_with(self, count: int) -> int:
        """How many n-grams have exactly this count."""
        return int(np.count_nonzero(self.counts == count))


@dataclass
class Weights:
    """What a smoother says of one order."""

    alpha: Array  # per n-gram
    gamma: Array  # per context
    discounts: tuple[float, ...] = ()
    note: str = ""  # what the user should know


class Smoother(ABC):
    """How the counts of each order become probabilities; made anew for every text."""

    about: ClassVar[str]
    interpolated: ClassVar[bool]  # or backing off, as above
    defined_if_unseen: ClassVar[bool] = True  # whether words after an unseen context have a p

    def adjusted_counts(self, levels: list[Level], index: int, eos_id: int, context: str) -> Array:
        """How often each n-gram of a level counts: here, as often as it was seen."""
        return levels[index].counts

    @abstractmethod
    def weigh(self, counts: Counts) -> Weights:
        """What each n-gram keeps and what each context hands down."""

    def combine(self, counts: Counts, weights: Weights, shorter: Array) -> tuple[Array, Array]:
        """Probability of each n-gram, and the weight of each context for what is not stored.

        `shorter` is the probability of each n-gram without its first word. Asked of the orders from
        the lowest up. What was cut off has alpha 0, and its share is in gamma.
        """
        if self.interpolated:
            return weights.alpha + weights.gamma[counts.contexts] * shorter, weights.gamma
        return _back_off(counts, weights, shorter)


def relative_frequencies(counts: Counts) -> Weights:
    """p = count(context w) / count(context); nothing is left for what was not seen."""
    alpha = counts.counts * counts.shares()[counts.contexts]
    return Weights(alpha, (counts.totals() == 0).astype(float))


def _back_off(counts: Counts, weights: Weights, shorter: Array) -> tuple[Array, Array]:
    """Seen words keep alpha; the unseen share gamma in proportion to the shorter context."""
    seen = weights.alpha > 0
    seen_shorter = counts.sum(np.where(seen, shorter, 0.0))
    unseen_shorter = np.maximum(1 - seen_shorter, 0.0)
    # Every word was seen: nothing is left to back off to, so the seen ones take the rest.
    exhausted = unseen_shorter < 1e-12
    alpha_sums = np.where(exhausted, counts.sum(weights.alpha), 1.0)
    backoffs = np.where(exhausted, 0.0, weights.gamma / np.where(exhausted, 1.0, unseen_shorter))
    probs = np.where(
        seen,
        weights.alpha / alpha_sums[counts.contexts],
        backoffs[counts.contexts] * shorter,
    )
    return probs, backoffs
