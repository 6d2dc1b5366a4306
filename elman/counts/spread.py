"""Entropy after each context and rank of each word, without whole distributions.

Takes tables and rows of ids, gives numbers for every word. In back-off form, the distribution after
a context h differs from the one after the shorter context h' only by the words S that are stored
after h, and by the factor b, the back-off weight of h. With q(w) = p(w | h'):

    H(h) = - Σ_S p log p + b (H(h') + Σ_S q log q) - b log b (M(h') - Σ_S q)
    M(h) = Σ_S p + b (M(h') - Σ_S q)

H is the entropy, and M the sum of all probabilities, which is 1 except for rounded and imported
models. In the same way, the words above a threshold are counted:

    N(h) = N(h') - |{w in S: b q(w) is above}| + |{w in S: p(w | h) is above}|

So every context costs as much as it has stored continuations. Both start from the unigrams.
"""

from dataclasses import dataclass

import numpy as np

from elman.counts.ranges import last_holding
from elman.counts.tables import NOTHING, Tables

Array = np.ndarray
_LARGEST_WEIGHT = 1e3  # above it, rounding errors would grow: such a context is added up in full
_ROWS = 64  # whole distributions at a time, for those


@dataclass
class _Order:
    """What one order contributes at each of its places."""

    places: Array  # in the flat rows
    contexts: Array  # number of the context at each
    log_backoffs: Array  # its weight


def entropies_and_ranks(tables: Tables, rows: Array, log_probs: Array) -> tuple[Array, Array]:
    """The entropy before each word after the first of each row, in nats, and its rank: 1 + the
    number of more probable words, (B, L) -> (B, L - 1) twice. `log_probs` are those of the words.
    """
    return _Spread(tables, rows, log_probs).measure()


class _Spread:
    def __init__(self, tables: Tables, rows: Array, log_probs: Array) -> None:
        self.tables = tables
        self.rows = rows
        size = rows.size
        own = np.zeros(rows.shape)
        own[:, 1:] = log_probs
        self.own = own.reshape(-1)
        self.orders = [
            _Order(places, contexts, below.log_backoffs[contexts])
            for below, (places, contexts, _) in zip(tables.tables, tables.walk(rows), strict=False)
        ]
        # By order from 2 and place: number of the context, or -1, and its weight, or 0.
        self.contexts = np.full((len(self.orders), size), -1)
        self.log_backoffs = np.zeros((len(self.orders), size))
        for index, order in enumerate(self.orders):
            self.contexts[index, order.places] = order.contexts
            self.log_backoffs[index, order.places] = order.log_backoffs
        unigrams = np.asarray(tables.tables[0].log_probs, dtype=float)
        self.entropies = np.full(size, -_times_log(unigrams).sum())
        self.masses = np.full(size, np.exp(unigrams).sum())
        self.above = self._count_above(np.sort(unigrams), None, None, np.arange(size), 0)

    def measure(self) -> tuple[Array, Array]:
        for index, order in enumerate(self.orders):
            self._add_order(index, order)
        shape = self.rows.shape
        return self.entropies.reshape(shape)[:, 1:], 1 + self.above.reshape(shape)[:, 1:]

    def _add_order(self, index: int, order: _Order) -> None:
        contexts, samples, owners = np.unique(
            order.contexts, return_index=True, return_inverse=True
        )
        samples = order.places[samples]  # a place of each distinct context
        own, entries = self.tables.followers(index + 2, contexts)  # own: index of the context
        table = self.tables.tables[index + 1]
        words = np.clip(table.words[entries], 0, self.tables.vocabulary_size - 1)
        stored = np.asarray(table.log_probs[entries], dtype=float)
        shorter = self._shorter(index, samples[own], words)
        sums = [
            np.bincount(own, weights=values, minlength=len(contexts))
            for log_values in (stored, shorter)
            for values in (_times_log(log_values), np.exp(log_values))
        ]
        log_weights = self.log_backoffs[index, samples]
        rest = self.masses[samples] - sums[3]
        weights = np.exp(log_weights)
        entropies = weights * (self.entropies[samples] + sums[2]) - sums[0]
        entropies -= _times_log(log_weights) * rest
        masses = sums[1] + weights * rest
        large = np.flatnonzero(weights > _LARGEST_WEIGHT)
        entropies[large], masses[large] = self._in_full(index, samples[large])
        self.entropies[order.places] = entropies[owners]
        self.masses[order.places] = masses[owners]
        # Ranks: the stored words replace themselves.
        bounds = np.concatenate([[0], np.cumsum(np.bincount(own, minlength=len(contexts)))])
        begins, ends = bounds[owners], bounds[owners + 1]
        for values, sign, first in ((stored, 1, index + 1), (shorter, -1, index)):
            ascending = _sorted_within(values, own)
            count = self._count_above(ascending, begins, ends, order.places, first)
            self.above[order.places] += sign * count

    def _shorter(self, index: int, places: Array, words: Array) -> Array:
        """Log probabilities of words after the shorter contexts at places, by orders below."""
        log_probs = np.asarray(self.tables.tables[0].log_probs.take(words), dtype=float)
        levels = np.zeros(len(words), dtype=np.int8)  # the order, from 0, that has the n-gram
        pending = np.arange(len(words))
        for lower in range(index - 1, -1, -1):
            if not len(pending):
                break
            contexts = self.contexts[lower, places[pending]]
            numbers = self.tables.find(lower + 2, contexts, words[pending])
            found = numbers >= 0
            done = pending[found]
            log_probs[done] = self.tables.tables[lower + 1].log_probs[numbers[found]]
            levels[done] = lower + 1
            pending = pending[~found]
        for lower in range(index):
            behind = np.flatnonzero(levels <= lower)
            log_probs[behind] += self.log_backoffs[lower, places[behind]]
        return log_probs

    def _count_above(
        self, ascending: Array, begins: Array | None, ends: Array | None, places: Array, first: int
    ) -> Array:
        """How many values of a range are above the word's own, once the weights of the orders from
        `first` are added: in the same way as the whole distribution adds them, so that equal words
        stay equal.
        """
        size = np.full(len(places), len(ascending))
        begins = np.zeros_like(size) if begins is None else begins
        ends = size if ends is None else ends
        weights = tuple(
            self.log_backoffs[lower, places] for lower in range(first, len(self.orders))
        )

        def is_not_above(spots: Array, own: Array, *weights: Array) -> Array:
            values = ascending.take(spots, mode="clip")
            for weight in weights:
                values += weight
            return values <= own

        if not len(ascending):
            return np.zeros(len(places), dtype=np.int64)
        return ends - 1 - last_holding(begins, ends, (self.own[places], *weights), is_not_above)

    def _in_full(self, index: int, places: Array) -> tuple[Array, Array]:
        """Entropy and mass of whole distributions after the contexts of an order at places."""
        width = self.tables.order - 1
        entropies, masses = np.empty(len(places)), np.empty(len(places))
        flat = self.rows.reshape(-1)
        for first in range(0, len(places), _ROWS):
            chosen = slice(first, first + _ROWS)
            contexts = np.full((len(places[chosen]), width), NOTHING)
            for back in range(index + 1):
                contexts[:, width - 1 - back] = flat[places[chosen] - 1 - back]
            log_probs = self.tables.predict(contexts)
            entropies[chosen] = -_times_log(log_probs).sum(axis=1)
            masses[chosen] = np.exp(log_probs).sum(axis=1)
        return entropies, masses


def _sorted_within(values: Array, groups: Array) -> Array:
    """Values of ascending groups, sorted within each group. Two sorts of numbers take a third of
    the time of `lexsort`.
    """
    order = np.argsort(values)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    keys = (groups << 32) | ranks
    keys.sort()
    return values.take(order.take(keys & 0xFFFFFFFF))


def _times_log(log_values: Array) -> Array:
    """x log x of each x, from log x; 0 where x is 0."""
    with np.errstate(invalid="ignore"):
        products = log_values * np.exp(log_values)
    products[np.isneginf(log_values)] = 0.0
    return products
