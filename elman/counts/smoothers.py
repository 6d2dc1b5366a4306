"""Smoothers: how a count model divides probability between seen and unseen n-grams.

A smoother takes the counts of one order and gives

    alpha   the share of each n-gram in the probability of its context,
    gamma   the share that each context passes to the shorter one (or to unseen words).

The orders are combined from the bottom up, in one of two ways:

    interpolated   p = alpha + gamma * p_shorter                     every word
    backing off    p = alpha if seen, else gamma' * p_shorter        gamma' makes it sum to one

A smoother is a class and a line in `SMOOTHERS`; the arguments of the class are its options. Called
by `estimate.py` for a few contexts at a time, so that little memory is needed; what it needs to
know of the whole order it asks `Counts.number_with`.

Formulas: Chen and Goodman (1999), "An empirical study of smoothing techniques for language
modeling"; Heafield et al. (2013) for Kneser-Ney as one pass over adjusted counts.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from elman.counts.counting import Level
from elman.errors import InputError
from elman.registry import Registry

Array = np.ndarray


@dataclass
class Counts:
    """The n-grams of one order, as input of a smoother; a few contexts at a time.

    Contexts are numbered from 0 here; `first_context` is the number of the first within its order.
    """

    vocabulary_size: int
    counts: Array  # of each n-gram, as the smoother counts
    contexts: Array  # number of the context of each n-gram
    shorter_contexts: Array  # per context: its number, one order down, without its first word
    is_longest: Array  # per context: no longer one exists, as it is full or starts a line
    first_context: int = 0
    counted: Callable[[int], int] | None = None  # how many n-grams of the order have a count

    @property
    def number_of_contexts(self) -> int:
        return len(self.is_longest)

    def sum(self, values: Array) -> Array:
        """Sum of a value per n-gram over each context."""
        sums = np.bincount(self.contexts, weights=values, minlength=self.number_of_contexts)
        return sums.astype(float)  # without n-grams, numpy gives integers

    def totals(self) -> Array:
        """How often each context was continued."""
        return self._totals

    @cached_property
    def _totals(self) -> Array:
        return self.sum(self.counts)

    def shares(self) -> Array:
        """One over the total of each context; 0 where nothing follows."""
        return self.per_total(np.ones(self.number_of_contexts), if_empty=0.0)

    def per_total(self, values: Array, if_empty: float) -> Array:
        """A value per context divided by its total; `if_empty` where nothing follows."""
        totals = self.totals()
        return np.divide(values, totals, out=np.full_like(totals, if_empty), where=totals > 0)

    def number_with(self, count: int) -> int:
        """How many n-grams of the whole order have exactly this count."""
        if self.counted is not None:
            return self.counted(count)
        return int(np.count_nonzero(self.counts == count))


@dataclass
class Weights:
    """The result of a smoother for one order."""

    alpha: Array  # per n-gram
    gamma: Array  # per context
    discounts: tuple[float, ...] = ()
    note: str = ""  # a note for the user


class Smoother(ABC):
    """Turns the counts of each order into probabilities; one instance per text."""

    about: ClassVar[str]
    interpolated: ClassVar[bool]  # False: backing off, as above
    defined_if_unseen: ClassVar[bool] = True  # whether p is defined after an unseen context
    in_parts: ClassVar[bool] = True  # whether contexts of an order can be smoothed in parts

    def adjusted_counts(self, levels: list[Level], index: int, eos_id: int, context: str) -> Array:
        """The count of each n-gram of a level; by default, how often it was seen."""
        return levels[index].counts

    def adjust(self, seen: Array, before: Array, starts_line: Array, context: str) -> Array:
        """The counts of n-grams below the highest order, from how often they were seen and how many
        different words come before each; by default, how often they were seen.
        """
        return seen

    @abstractmethod
    def weigh(self, counts: Counts) -> Weights:
        """The alpha of each n-gram and the gamma of each context."""

    def combine(self, counts: Counts, weights: Weights, shorter: Array) -> tuple[Array, Array]:
        """The probability of each n-gram, and the back-off weight of each context.

        `shorter` is the probability of each n-gram without its first word. Called for the lowest
        order first, and within an order for its contexts in turn. Dropped n-grams have alpha 0, and
        gamma includes their share.
        """
        if self.interpolated:
            passed_on = weights.gamma.take(counts.contexts)
            passed_on *= shorter
            passed_on += weights.alpha
            return passed_on, weights.gamma
        return _back_off(counts, weights, shorter)


def relative_frequencies(counts: Counts) -> Weights:
    """p = count(context w) / count(context); nothing is left for unseen n-grams."""
    alpha = counts.counts * counts.shares()[counts.contexts]
    return Weights(alpha, (counts.totals() == 0).astype(float))


def _back_off(counts: Counts, weights: Weights, shorter: Array) -> tuple[Array, Array]:
    """Seen words get alpha; unseen words share gamma in proportion to the shorter context."""
    seen = weights.alpha > 0
    seen_shorter = counts.sum(np.where(seen, shorter, 0.0))
    unseen_shorter = np.maximum(1 - seen_shorter, 0.0)
    # Every word was seen, so there is nothing to back off to: the seen words get the rest.
    exhausted = unseen_shorter < 1e-12
    alpha_sums = np.where(exhausted, counts.sum(weights.alpha), 1.0)
    backoffs = np.where(exhausted, 0.0, weights.gamma / np.where(exhausted, 1.0, unseen_shorter))
    probs = np.where(
        seen,
        weights.alpha / alpha_sums[counts.contexts],
        backoffs[counts.contexts] * shorter,
    )
    return probs, backoffs


# KenLM uses the same values if discounts cannot be estimated.
_FIXED_DISCOUNTS = (0.5, 1.0, 1.5)


def discounted(counts: Counts, discounts: tuple[float, ...], note: str = "") -> Weights:
    """Absolute discounting: subtract from each count, for unseen n-grams.

    Takes the counts of one order and a discount per count, gives their weights.
    """
    by_count = np.array([0.0, *discounts])
    taken = by_count.take(counts.counts, mode="clip")
    gamma = counts.per_total(counts.sum(taken), if_empty=1.0)
    alpha = counts.counts - taken
    alpha *= counts.shares().take(counts.contexts)
    return Weights(alpha, gamma, discounts, note)


def fixed_discounts(counts: Counts, how_many: int = 3) -> Weights:
    """The same with fixed discounts, and a note about them.

    Too few n-grams occur once, twice, three or four times to estimate them, or more of them occur
    often than seldom.
    """
    discounts = _FIXED_DISCOUNTS[:how_many]
    values = ", ".join(f"{value:g}" for value in discounts)
    return discounted(
        counts,
        discounts,
        "discounts cannot be estimated, because the text is too small or repeats itself too much; "
        f"using fixed ones ({values})",
    )


def one_discount(counts: Counts) -> Weights:
    """One discount D = n1 / (n1 + 2 n2) for all counts (Ney, Essen and Kneser 1994)."""
    once, twice = counts.number_with(1), counts.number_with(2)
    if once == 0 or twice == 0:
        return fixed_discounts(counts, how_many=1)
    return discounted(counts, (once / (once + 2 * twice),))


class MaximumLikelihood(Smoother):
    """p = count(context w) / count(context), without smoothing; shows both sparsity problems.

    count(context w) = 0    the word has probability zero after this context
    count(context)   = 0    0 / 0: probabilities after this context are undefined
    """

    about = "relative frequencies: unseen n-grams have probability 0, unseen contexts are undefined"
    interpolated = True
    defined_if_unseen = False

    def weigh(self, counts: Counts) -> Weights:
        return relative_frequencies(counts)


class AddDelta(Smoother):
    """Add the same amount to every count: Laplace (1) or Lidstone (less).

    p = (count + delta) / (total + delta V).

    As a mixture, the rest goes to the uniform distribution. So contexts that are not the longest
    possible pass it on unchanged.
    """

    about = "add delta to every count: Laplace (delta 1) and Lidstone"
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


class WittenBell(Smoother):
    """Witten-Bell: the more distinct words follow a context, the more mass for new ones.

    p = (count + T p_shorter) / (total + T), where T distinct words follow the context.
    """

    about = "interpolated, weighted by the number of distinct words after a context"
    interpolated = True

    def weigh(self, counts: Counts) -> Weights:
        types = counts.sum((counts.counts > 0).astype(float))
        totals = counts.totals() + types
        gamma = np.divide(types, totals, out=np.ones_like(totals), where=totals > 0)
        alpha = counts.counts / np.maximum(totals, 1)[counts.contexts]
        return Weights(alpha, gamma)


class StupidBackoff(Smoother):
    """Stupid backoff: relative frequencies, and a fixed penalty for each dropped context word.

    Brants et al. (2007), with the scores of each context divided by their sum Z.

    score(w) = frequency if seen, else backoff * score(w | shorter). So with p = score / Z:
    Z = 1 + backoff * (Z_shorter - sum over seen w of score(w | shorter)).
    """

    about = "stupid backoff (Brants et al. 2007), with normalised scores"
    interpolated = False
    in_parts = False  # a context needs the sums of shorter ones

    def __init__(self, *, backoff: float = 0.4) -> None:
        if not 0 < backoff <= 1:
            raise InputError(f"model.options.backoff={backoff}: must be above 0 and at most 1")
        self.backoff = backoff
        self._score_sums: list[Array] = [np.ones(1)]  # Z per context, the latest last
        self._shorter_sums = np.ones(1)  # Z per context of the order below

    def weigh(self, counts: Counts) -> Weights:
        return relative_frequencies(counts)

    def combine(self, counts: Counts, weights: Weights, shorter: Array) -> tuple[Array, Array]:
        if counts.first_context == 0:  # the contexts of the next order begin
            self._shorter_sums, self._score_sums = np.concatenate(self._score_sums), []
        shorter_sums = self._shorter_sums[counts.shorter_contexts]
        seen = weights.alpha > 0
        kept = counts.sum(weights.alpha)
        unseen = shorter_sums * (1 - counts.sum(np.where(seen, shorter, 0.0)))
        penalty = np.where(kept > 0, self.backoff, 1.0)  # none where nothing follows
        score_sums = kept + penalty * unseen
        self._score_sums.append(score_sums)
        backoffs = penalty * shorter_sums / score_sums
        probs = np.where(
            seen,
            weights.alpha / score_sums[counts.contexts],
            backoffs[counts.contexts] * shorter,
        )
        return probs, backoffs


_LARGEST = 5  # count that is discounted; larger ones are reliable


class Katz(Smoother):
    """Katz (1987): discount small counts by the Good-Turing estimate; back off when unseen.

    Counts r up to `_LARGEST`, k, become d_r r with d_r from the Good-Turing estimate.

    d_r = (r*/r - A) / (1 - A), r* = (r + 1) n_{r+1} / n_r, A = (k + 1) n_{k+1} / n_1.
    """

    about = "back-off with Good-Turing discounts"
    interpolated = False

    def weigh(self, counts: Counts) -> Weights:
        seen = [counts.number_with(count) for count in range(1, _LARGEST + 2)]
        if 0 in seen:
            return fixed_discounts(counts)
        tail = (_LARGEST + 1) * seen[_LARGEST] / seen[0]
        if tail >= 1:
            return fixed_discounts(counts)
        ratios = [(r + 1) * seen[r] / (r * seen[r - 1]) for r in range(1, _LARGEST + 1)]
        discounts = tuple(
            r * (1 - (ratio - tail) / (1 - tail)) for r, ratio in enumerate(ratios, 1)
        )
        if any(not 0 < discount < r for r, discount in enumerate(discounts, 1)):
            return fixed_discounts(counts)
        return _never_empty(counts, discounted(counts, (*discounts, 0.0)))


def _never_empty(counts: Counts, weights: Weights) -> Weights:
    """If a context has only large counts, nothing is discounted: add one to its total.

    Without this, unseen words after such a context would have probability zero.
    """
    totals = counts.totals()
    empty = weights.gamma == 0
    weights.alpha = np.where(
        empty[counts.contexts], counts.counts / (totals + 1)[counts.contexts], weights.alpha
    )
    weights.gamma = np.where(empty, 1 / (totals + 1), weights.gamma)
    return weights


class Absolute(Smoother):
    """p = (count - D) / total if seen, else back off (Ney, Essen and Kneser 1994)."""

    about = "back-off with one discount per order"
    interpolated = False

    def weigh(self, counts: Counts) -> Weights:
        return one_discount(counts)


class KneserNey(Smoother):
    """Kneser and Ney (1995), interpolated: lower orders count distinct left contexts.

    p = (count - D) / total + gamma p_shorter, with adjusted counts below the highest order.
    """

    about = "interpolated, one discount per order"
    interpolated = True

    def adjusted_counts(self, levels: list[Level], index: int, eos_id: int, context: str) -> Array:
        """The number of distinct words that precede an n-gram.

        The highest order keeps its counts, and so does an n-gram that starts a line: if contexts
        stop at lines nothing can precede it, and in a stream a text begins with it, when nothing
        longer is known. (An n-gram at the very start of a stream counts as one.)
        """
        level = levels[index]
        if index == len(levels) - 1:
            return level.counts
        left_neighbours = np.bincount(levels[index + 1].suffixes, minlength=len(level))
        starts_line = (level.firsts == eos_id) & (index > 0)
        return self.adjust(level.counts, left_neighbours, starts_line, context)

    def adjust(self, seen: Array, before: Array, starts_line: Array, context: str) -> Array:
        if context == "stream":
            before = np.maximum(before, np.minimum(seen, 1))
        return np.where(starts_line, seen, before)

    def weigh(self, counts: Counts) -> Weights:
        return one_discount(counts)


class ModifiedKneserNey(KneserNey):
    """Kneser-Ney with three discounts per order (Chen and Goodman 1999).

    Discounts for counts 1, 2 and 3 or more (equation 26).

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


SMOOTHERS = Registry(
    "smoothing",
    {
        "maximum-likelihood": MaximumLikelihood,
        "add-delta": AddDelta,
        "witten-bell": WittenBell,
        "stupid-backoff": StupidBackoff,
        "katz": Katz,
        "absolute": Absolute,
        "kneser-ney": KneserNey,
        "modified-kneser-ney": ModifiedKneserNey,
    },
    group="smoothers",
)
