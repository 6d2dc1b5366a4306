"""Kneser-Ney probabilities of a few words after many contexts, with or without one occurrence.

Takes the n-grams of a text and gives matrices (contexts × words); called by the outputs that learn
together with an n-gram model (`layers/outputs/ngram.py`). In interpolated form,

    p_k(w) = alpha_k(w) + gamma_k p_{k-1}(w)         alpha_k(w) = (count(w) - D) / total, if seen

so p is a sum of a dense row, the single words, and of few numbers per order: those of the words
that were seen after the context. Only these are looked up.

A model of a text is too sure of that text: every word that it predicts was counted. So while
something else learns from the same text, the current occurrence is left out. Where it was the only
one, its n-gram, and maybe its context, were never seen:

    count(target) - 1,   total - 1,   and the same one order down if no other word came before it
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from elman.counts.counting import count_ngrams
from elman.counts.smoothers import Counts, ModifiedKneserNey, Weights
from elman.counts.tables import NOTHING, OrderTable, Tables

Array = np.ndarray
_SMOOTHER = ModifiedKneserNey()
_CONTEXT = "line"  # contexts stop at line starts


@dataclass(frozen=True)
class CountedNgrams:
    """The n-grams of a text as a few arrays: order after order, sorted by (prefix, word)."""

    sizes: Array  # number of n-grams of each order from 2
    prefixes: Array  # of each n-gram: the number of its context, one order down
    words: Array  # of each n-gram: its last word
    counts: Array  # of each single word, then of each n-gram: the count that the smoother uses
    once: Array  # of each n-gram: 1 if it occurs once in the text, else 0

    @classmethod
    def of(cls, ids: Array, *, order: int, vocabulary_size: int, eos_id: int) -> "CountedNgrams":
        """Count a text."""
        levels = count_ngrams(
            ids, order=order, vocabulary_size=vocabulary_size, eos_id=eos_id, context=_CONTEXT
        )
        counts = [
            _SMOOTHER.adjusted_counts(levels, index, eos_id, _CONTEXT) for index in range(order)
        ]
        longer = levels[1:]
        return cls(
            np.array([len(level) for level in longer], dtype=np.int64),
            _joined([level.prefixes for level in longer], np.int32),
            _joined([level.words for level in longer], np.int32),
            _joined(counts, np.int32),
            _joined([level.counts == 1 for level in longer], np.uint8),
        )

    @classmethod
    def of_words(cls, counts: Array, order: int) -> "CountedNgrams":
        """Single words only."""
        nothing = np.zeros(0, dtype=np.int32)
        sizes = np.zeros(order - 1, dtype=np.int64)
        return cls(sizes, nothing, nothing, counts.astype(np.int32), nothing.astype(np.uint8))

    def check(self, vocabulary_size: int) -> None:
        """Raise a ValueError if these are not the n-grams of a text: a file may be damaged."""
        total, sizes = len(self.words), [vocabulary_size, *self.sizes.tolist()]
        right = min(sizes) >= 0 and sum(sizes[1:]) == total == len(self.prefixes) == len(self.once)
        if not right or len(self.counts) != vocabulary_size + total:
            raise ValueError("the numbers of n-grams do not match")
        if total and not 0 <= self.words.min() <= self.words.max() < vocabulary_size:
            raise ValueError("an n-gram has a word that is not in the vocabulary")
        if len(self.counts) and self.counts.min() < 0:
            raise ValueError("an n-gram has a negative count")
        for below, part in zip(sizes, self.parts(self.prefixes), strict=False):
            if len(part) and not 0 <= part.min() <= part.max() < below:
                raise ValueError("an n-gram has no context")
            if (np.diff(part) < 0).any():
                raise ValueError("the n-grams are not sorted")

    def parts(self, values: Array) -> list[Array]:
        """An array of all n-grams, by order from 2."""
        return np.split(values, np.cumsum(self.sizes)[:-1])


def _joined(parts: list[Array], kind: type) -> Array:
    return np.concatenate([*parts, np.zeros(0, dtype=kind)]).astype(kind)


@dataclass(frozen=True)
class _Order:
    """The n-grams of one order, smoothed."""

    words: Array
    counts: Array
    once: Array
    alphas: Array  # per n-gram
    gammas: Array  # per context
    totals: Array  # per context: how often it was continued
    discounts: Array  # by count: 0, then those of 1, 2, 3 or more


@dataclass(frozen=True)
class Mixed:
    """What each order contributes after each context: p = own + gammas · p of the order below.

    One array (N,) per order from 1, and for the target of each row, if it was left out, its own
    alpha.
    """

    numbers: list[Array]  # of the contexts, from order 2; -1: never seen
    scales: list[Array]  # of the alphas of the seen words
    gammas: list[Array]
    totals: list[Array]
    own: list[Array] | None

    def shares(self) -> list[Array]:
        """The factor of the alphas of each order, and last that of the uniform distribution."""
        shares, left = [], np.ones_like(self.gammas[0])
        for scale, gamma in zip(self.scales[::-1], self.gammas[::-1], strict=True):
            shares.append(left * scale)
            left = left * gamma
        return [*shares[::-1], left]


class LeaveOneOut:
    """Kneser–Ney probabilities from counts, from which one occurrence can be left out."""

    def __init__(self, counted: CountedNgrams, *, vocabulary_size: int, eos_id: int) -> None:
        counted.check(vocabulary_size)
        self.vocabulary_size = vocabulary_size
        self.eos_id = eos_id
        self.order = len(counted.sizes) + 1
        parts = [counted.parts(part) for part in (counted.prefixes, counted.words, counted.once)]
        counts = [
            counted.counts[:vocabulary_size],
            *counted.parts(counted.counts[vocabulary_size:]),
        ]
        single = np.zeros(vocabulary_size, dtype=np.int32)
        self._orders = [
            _smooth(single, np.arange(vocabulary_size, dtype=np.int32), counts[0], single, 1)
        ]
        tables = [OrderTable(single, self._orders[0].words, single, single)]
        for prefixes, words, once, own in zip(*parts, counts[1:], strict=True):
            below = len(tables[-1])
            self._orders.append(_smooth(prefixes, words, own, once, below))
            tables.append(OrderTable(prefixes, words, single, single))
        self._tables = Tables(tables, vocabulary_size, eos_id)  # to find n-grams, nothing else

    @cached_property
    def _uniform(self) -> float:
        return 1 / self.vocabulary_size

    # What each order contributes ------------------------------------------------------------------

    def mixed(self, contexts: Array) -> Mixed:
        """The contributions after contexts (N, order - 1), the oldest word first."""
        numbers = self._numbers(contexts)
        rows = len(contexts)
        scales, gammas, totals = [np.ones(rows)], [self._orders[0].gammas.repeat(rows)], []
        totals.append(self._orders[0].totals.repeat(rows))
        for order, found in zip(self._orders[1:], numbers, strict=True):
            scales.append(np.ones(rows))
            gammas.append(_at(order.gammas, found, 1.0))
            totals.append(_at(order.totals, found, 0.0))
        return Mixed(numbers, scales, gammas, totals, None)

    def left_out(self, contexts: Array, targets: Array) -> Mixed:
        """The same, as if each target had not occurred after its context here."""
        numbers = self._numbers(contexts)
        found = [targets]  # the numbers of the n-grams that end with the target
        for number, context in enumerate(numbers, start=2):
            found.append(self._tables.find(number, context, targets))
        scales, gammas, totals, own = [], [], [], []
        everywhere = np.zeros(len(targets), dtype=np.int64)  # the context of single words
        for index, order in enumerate(self._orders):
            context, ngram = numbers[index - 1] if index else everywhere, found[index]
            seen = ngram >= 0
            leaves = seen & self._leaves(index, found, contexts)
            count = _at(order.counts, ngram, 0)
            rest = count - leaves
            before, after = (
                order.discounts.take(count, mode="clip"),
                order.discounts.take(rest, mode="clip"),
            )
            total = _at(order.totals, context, 0.0)
            left = total - leaves
            some = left > 0
            divisor = np.where(some, left, 1.0)
            mass = _at(order.gammas, context, 1.0) * total - before * seen + after * seen
            scales.append(np.where(some, total / divisor, 0.0))
            gammas.append(np.where(some, mass / divisor, 1.0))
            totals.append(left)
            own.append(np.where(some & seen, (rest - after) / divisor, 0.0))
        return Mixed(numbers, scales, gammas, totals, own)

    def _leaves(self, index: int, found: list[Array], contexts: Array) -> Array:
        """Whether the count of an n-gram is one less without this occurrence of it.

        Below the highest order it counts the different words before it, unless it starts a line.
        """
        if index == self.order - 1:
            return np.ones(len(contexts), dtype=bool)
        longer = found[index + 1]
        only = (longer >= 0) & (_at(self._orders[index + 1].once, longer, 0) == 1)
        if index == 0:
            return only
        return only | (contexts[:, -index] == self.eos_id)

    def _numbers(self, contexts: Array) -> list[Array]:
        if self.order == 1:
            return []
        return self._tables.context_numbers(contexts)

    # Probabilities --------------------------------------------------------------------------------

    def of_targets(self, mixed: Mixed, targets: Array) -> Array:
        """The probability of one word after each context, (N,)."""
        probs = np.full(len(targets), self._uniform)
        for index, order in enumerate(self._orders):
            if mixed.own is not None:
                alphas = mixed.own[index]
            elif index == 0:
                alphas = order.alphas[targets]
            else:
                numbers = self._tables.find(index + 1, mixed.numbers[index - 1], targets)
                alphas = _at(order.alphas, numbers, 0.0)
            probs = alphas + mixed.gammas[index] * probs
        return probs

    def of_words(
        self, mixed: Mixed, words: Array, targets: Array | None = None, kind: type = np.float32
    ) -> Array:
        """The probabilities of the same words after each context, (N, W).

        words: different ones, ascending. targets: those that were left out; they must be among the
        words.
        """
        shares = mixed.shares()
        probs = np.multiply.outer(
            shares[0].astype(kind), self._orders[0].alphas[words].astype(kind)
        )
        probs += (shares[-1] * self._uniform).astype(kind)[:, None]
        places = np.full(self.vocabulary_size, -1)
        places[words] = np.arange(len(words))
        for index, numbers in enumerate(mixed.numbers, start=1):
            self._add_seen(probs, index, numbers, shares[index], places)
        if targets is not None:
            probs[np.arange(len(probs)), places[targets]] = self.of_targets(mixed, targets)
        return probs

    def _add_seen(
        self, probs: Array, index: int, numbers: Array, shares: Array, places: Array
    ) -> None:
        """Add the alphas of the words that were seen after each context."""
        order = self._orders[index]
        if index > 1:
            rows, entries = self._tables.followers(index + 1, numbers)
            columns = places[order.words[entries]]
            inside = np.flatnonzero(columns >= 0)
            rows, entries = rows[inside], entries[inside]
            probs[rows, columns[inside]] += shares[rows] * order.alphas[entries]
            return
        # Thousands of words follow a frequent word, which occurs many times: look it up once.
        distinct, inverse = np.unique(numbers, return_inverse=True)
        rows, entries = self._tables.followers(2, distinct)
        columns = places[order.words[entries]]
        inside = np.flatnonzero(columns >= 0)
        seen = np.zeros((len(distinct), probs.shape[1]), dtype=probs.dtype)
        seen[rows[inside], columns[inside]] = order.alphas[entries[inside]]
        added = seen[inverse]
        added *= shares.astype(probs.dtype)[:, None]
        probs += added


def _smooth(prefixes: Array, words: Array, counts: Array, once: Array, contexts: int) -> _Order:
    known = Counts(
        vocabulary_size=0,
        counts=counts,
        contexts=prefixes.astype(np.intp),
        shorter_contexts=np.zeros(0, dtype=np.int32),
        is_longest=np.zeros(contexts, dtype=bool),
    )
    weights: Weights = _SMOOTHER.weigh(known)
    discounts = np.array([0.0, *weights.discounts])
    return _Order(words, counts, once, weights.alpha, weights.gamma, known.totals(), discounts)


def _at(values: Array, numbers: Array, missing: float) -> Array:
    """values[numbers], and `missing` where the number is -1."""
    if not len(values):
        return np.full(numbers.shape, missing, dtype=values.dtype)
    return np.where(numbers == NOTHING, np.asarray(missing, dtype=values.dtype), values[numbers])
