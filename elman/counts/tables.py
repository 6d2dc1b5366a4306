"""N-gram probabilities in back-off form, and the two queries on them.

Built by smoothing or read from an ARPA file; used by the n-gram model. Every smoother, interpolated
or not, ends up here, because all of them can be written with two numbers:

    p(w | context) = p stored for (context, w)                        if that n-gram is stored,
                     backoff(context) * p(w | shorter context)         if it is not,

where the backoff of a context that is not stored is one. Both numbers are natural logarithms.
Queries: the score of each word of a text, and the whole distribution after a context.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

Array = np.ndarray
NOTHING = -1  # the id of a position before the first word


@dataclass(eq=False)
class OrderTable:
    """The n-grams of one order, sorted by (prefix, word)."""

    prefixes: Array  # number, one table down, of the n-gram without its last word
    words: Array  # id of the last word
    log_probs: Array
    log_backoffs: Array  # weight of this n-gram as a context; 0 if it is never one
    counts: Array | None = None  # as the smoother used them; unknown for a model read from ARPA

    def __len__(self) -> int:
        return len(self.words)


@dataclass(eq=False)
class Tables:
    """A back-off model: `tables[k]` holds the n-grams of order k + 1."""

    tables: list[OrderTable]
    vocabulary_size: int
    eos_id: int
    notes: list[str] = field(default_factory=list)  # notes for the user about the fit
    discounts: list[list[float]] = field(default_factory=list)  # per order, if there are any

    @property
    def order(self) -> int:
        return len(self.tables)

    @cached_property
    def _keys(self) -> list[Array]:
        size = np.int64(self.vocabulary_size)  # an int32 could not hold the product
        return [table.prefixes * size + table.words for table in self.tables]

    @cached_property
    def _children(self) -> list[Array]:
        """For each order, where the n-grams that extend entry i begin in the next table."""
        return [
            np.searchsorted(above.prefixes, np.arange(len(below) + 1))
            for below, above in zip(self.tables, self.tables[1:], strict=False)
        ]

    def find(self, order: int, prefixes: Array, words: Array) -> Array:
        """Numbers of the n-grams (prefix, word), or -1; -1 as prefix or word is never found."""
        keys = self._keys[order - 1]
        numbers = np.full(words.shape, -1)
        askable = np.flatnonzero((prefixes >= 0) & (words >= 0))
        if len(keys) == 0 or len(askable) == 0:
            return numbers
        wanted = prefixes.flat[askable] * self.vocabulary_size + words.flat[askable]
        ascending = wanted.argsort()  # neighbours in the table share their way through memory
        wanted = wanted[ascending]
        places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        numbers.flat[askable[ascending]] = np.where(keys[places] == wanted, places, -1)
        return numbers

    def score(self, rows: Array) -> Array:
        """Log probability of every word after the first of each row, (B, L) -> (B, L - 1).

        A row is the context, oldest first (NOTHING where it is shorter), then the text.
        """
        words = rows[:, 1:]
        log_probs = self.tables[0].log_probs[words]
        numbers = rows  # of the n-gram of the current order that ends at each position
        for order in range(2, self.order + 1):
            contexts = numbers[:, :-1]
            numbers = np.full(rows.shape, -1)
            numbers[:, 1:] = self.find(order, contexts, words)
            found = numbers[:, 1:]
            backed_off = log_probs + self._log_backoff(order - 1, contexts)
            stored = _stored(self.tables[order - 1].log_probs, found)
            log_probs = np.where(found >= 0, stored, backed_off)
        return log_probs

    def predict(self, contexts: Array) -> Array:
        """Log probabilities of all words after each context, (B, H) -> (B, V)."""
        log_probs = np.repeat(self.tables[0].log_probs[None], len(contexts), axis=0)
        for order, numbers in enumerate(self.context_numbers(contexts), start=2):
            log_probs += self._log_backoff(order - 1, numbers)[:, None]
            rows, entries = self.followers(order, numbers)
            table = self.tables[order - 1]
            log_probs[rows, table.words[entries]] = table.log_probs[entries]
        return log_probs

    def unseen_contexts(self, rows: Array, *, lines: bool) -> Array:
        """Whether the context of every word after the first of each row was never continued in
        training, (B, L) -> (B, L - 1) of bool. With `lines`, a context does not cross the start of
        a line.
        """
        numbers = rows
        usable = rows[:, :-1] != NOTHING  # contexts of order - 1 words that end at each position
        unseen = np.zeros(usable.shape, dtype=bool)
        for order in range(2, self.order + 1):
            if order > 2:
                longer = np.full(rows.shape, -1)
                longer[:, 1:] = self.find(order - 1, numbers[:, :-1], rows[:, 1:])
                numbers = longer
                reach = order - 2  # words between the first and the last of the context
                first = np.full(usable.shape, NOTHING)
                first[:, reach:] = rows[:, : -1 - reach]
                after = np.full(usable.shape, NOTHING)  # the word after the first
                after[:, reach - 1 :] = rows[:, :-reach]
                usable = usable & (first != NOTHING)
                if lines:
                    usable = usable & (after != self.eos_id)
            contexts = numbers[:, :-1]
            bounds = self._children[order - 2]
            followed = (contexts >= 0) & (bounds[contexts + 1] > bounds[contexts])
            unseen |= usable & ~followed
        return unseen

    def context_numbers(self, contexts: Array) -> list[Array]:
        """Numbers of the last 1, 2, … order-1 words of each row, or -1 where not stored."""
        numbers = contexts
        last = []
        for order in range(1, self.order):
            if order > 1:
                longer = np.full(contexts.shape, -1)
                longer[:, 1:] = self.find(order, numbers[:, :-1], contexts[:, 1:])
                numbers = longer
            last.append(numbers[:, -1])
        return last

    def followers(self, order: int, contexts: Array) -> tuple[Array, Array]:
        """All n-grams of an order that extend the given contexts: their row and their number."""
        bounds = self._children[order - 2]
        rows = np.flatnonzero(contexts >= 0)
        starts = bounds[contexts[rows]]
        lengths = bounds[contexts[rows] + 1] - starts
        ends = np.cumsum(lengths)
        offsets = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)
        return np.repeat(rows, lengths), np.repeat(starts, lengths) + offsets

    def _log_backoff(self, order: int, contexts: Array) -> Array:
        stored = _stored(self.tables[order - 1].log_backoffs, contexts)
        return np.where(contexts >= 0, stored, 0.0)


def _stored(values: Array, numbers: Array) -> Array:
    """values[numbers]; arbitrary where the number is -1, also from an empty table."""
    return values[numbers] if len(values) else np.zeros(numbers.shape)
