"""N-gram probabilities in back-off form, and the two queries on them.

Built by smoothing or read from an ARPA file; used by the n-gram model. Every smoother, interpolated
or not, ends up here, because all of them can be written with two numbers:

    p(w | context) = p stored for (context, w)                        if that n-gram is stored,
                     backoff(context) * p(w | shorter context)         if it is not,

where the backoff of a context that is not stored is one. Both numbers are natural logarithms.
Queries: the score of each word of a text, and the whole distribution after a context.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from elman.counts.ranges import last_holding

Array = np.ndarray
NOTHING = -1  # the id of a position before the first word


class OrderTable:
    """The n-grams of one order, sorted by (prefix, word).

    The prefixes can be given as `starts`: where the n-grams that extend entry i of the table below
    begin in this one, and the end. The arrays may be mapped from a file, or quantised
    (`compact.py`).
    """

    def __init__(
        self,
        prefixes: Array | None,
        words: Array,
        log_probs: Array,
        log_backoffs: Array,
        counts: Array | None = None,
        starts: Array | None = None,
    ) -> None:
        self.words = words  # id of the last word
        self.log_probs = log_probs
        self.log_backoffs = log_backoffs  # weight of this n-gram as a context; 0 if it is never one
        self.counts = counts  # as the smoother used them; None if unknown, as in ARPA files
        self.starts = starts
        if prefixes is not None:
            self.prefixes = prefixes

    def changed(
        self, *, log_probs: Array | None = None, log_backoffs: Array | None = None
    ) -> "OrderTable":
        """The same n-grams with other numbers."""
        return OrderTable(
            self.prefixes,
            self.words,
            self.log_probs if log_probs is None else log_probs,
            self.log_backoffs if log_backoffs is None else log_backoffs,
            self.counts,
            self.starts,
        )

    @cached_property
    def prefixes(self) -> Array:
        """Number, one table down, of each n-gram without its last word."""
        assert self.starts is not None
        lengths = np.diff(np.asarray(self.starts))
        return np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)

    def starts_after(self, below: int) -> Array:
        """Where the n-grams that extend each of the `below` entries of the table below begin."""
        if self.starts is None:
            starts = np.zeros(below + 1, dtype=np.int64)
            np.cumsum(np.bincount(self.prefixes, minlength=below), out=starts[1:])
            self.starts = starts.astype(np.int32) if len(self) < 2**31 else starts
        return self.starts

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

    def starts(self, order: int) -> Array:
        """Where the n-grams of an order that extend entry i of the order below begin."""
        return self.tables[order - 1].starts_after(len(self.tables[order - 2]))

    def find(self, order: int, prefixes: Array, words: Array) -> Array:
        """Numbers of the n-grams (prefix, word), or -1; -1 as prefix or word is never found."""
        numbers = np.full(words.shape, -1)
        askable = np.flatnonzero((prefixes >= 0) & (words >= 0))
        found = self._search(order, prefixes.flat[askable], words.flat[askable])
        numbers.flat[askable] = found
        return numbers

    def _search(self, order: int, prefixes: Array, words: Array) -> Array:
        """The same for known prefixes, in one dimension."""
        stored = self.tables[order - 1].words
        if not len(stored):
            return np.full(words.shape, -1)
        begins, ends = self._range(order, prefixes)
        words = words.astype(stored.dtype)
        places = last_holding(
            begins, ends, (words,), lambda places, words: stored.take(places, mode="clip") <= words
        )
        found = (places >= begins) & (stored.take(places, mode="clip") == words)
        places[~found] = -1
        return places

    def _range(self, order: int, contexts: Array) -> tuple[Array, Array]:
        """Where the n-grams that extend contexts begin and end; bounded, as files may be damaged
        that are mapped without reading all of them.
        """
        starts, most = self.starts(order), len(self.tables[order - 1])
        if not most:
            return np.zeros_like(contexts), np.zeros_like(contexts)
        begins = np.clip(starts[contexts].astype(np.int64), 0, most)
        return begins, np.clip(starts[contexts + 1].astype(np.int64), begins, most)

    def walk(self, rows: Array) -> Iterator[tuple[Array, Array, Array]]:
        """For each order from 2: the places in the flat rows with a known context of that length,
        the numbers of the contexts, and the numbers of the n-grams that end there, or -1.
        """
        width, flat = rows.shape[1], np.ascontiguousarray(rows).reshape(-1)
        places = np.flatnonzero(flat != NOTHING)
        contexts = flat[places]
        for order in range(2, self.order + 1):
            places = places + 1
            inside = np.flatnonzero(places % width)
            places, contexts = places[inside], contexts[inside]
            numbers = self._search(order, contexts, flat[places])
            yield places, contexts, numbers
            found = np.flatnonzero(numbers >= 0)
            places, contexts = places[found], numbers[found]

    def score(self, rows: Array) -> Array:
        """Log probability of every word after the first of each row, (B, L) -> (B, L - 1).

        A row is the context, oldest first (NOTHING where it is shorter), then the text.
        """
        log_probs = self.tables[0].log_probs.take(rows, mode="clip").astype(float, copy=False)
        flat = log_probs.reshape(-1)
        for table, (places, contexts, numbers) in zip(
            pairwise(self.tables), self.walk(rows), strict=True
        ):
            flat[places] += table[0].log_backoffs[contexts]
            found = np.flatnonzero(numbers >= 0)
            flat[places[found]] = table[1].log_probs[numbers[found]]
        return log_probs[:, 1:]

    def predict(self, contexts: Array) -> Array:
        """Log probabilities of all words after each context, (B, H) -> (B, V)."""
        log_probs = np.repeat(
            np.asarray(self.tables[0].log_probs, float)[None], len(contexts), axis=0
        )
        for order, numbers in enumerate(self.context_numbers(contexts), start=2):
            log_probs += self._log_backoff(order - 1, numbers)[:, None]
            rows, entries = self.followers(order, numbers)
            table = self.tables[order - 1]
            words = np.clip(table.words[entries], 0, self.vocabulary_size - 1)
            log_probs[rows, words] = table.log_probs[entries]
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
            begins, ends = self._range(order, np.maximum(contexts, 0))
            followed = (contexts >= 0) & (ends > begins)
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
        rows = np.flatnonzero(contexts >= 0)
        starts, ends = self._range(order, contexts[rows])
        lengths = ends - starts
        ends = np.cumsum(lengths)
        offsets = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)
        return np.repeat(rows, lengths), np.repeat(starts, lengths) + offsets

    def _log_backoff(self, order: int, contexts: Array) -> Array:
        stored = _stored(self.tables[order - 1].log_backoffs, contexts)
        return np.where(contexts >= 0, stored, 0.0)


def _stored(values: Array, numbers: Array) -> Array:
    """values[numbers]; arbitrary where the number is -1, also from an empty table."""
    return values[numbers] if len(values) else np.zeros(numbers.shape)
