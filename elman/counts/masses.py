"""The probability that the next word is in a set, after many contexts, without whole distributions.

Takes tables in back-off form and a set of words; used by the n-gram model for word boundaries. As
in `tables.py`, a context passes its back-off weight to the shorter one:

    P(S | context) = Σ_{w in S stored} p(w | context)
                     + backoff(context) * (P(S | shorter) - Σ_{w in S stored} p(w | shorter))

So the mass of a stored context needs only its followers in the set, and each context is computed
once. If the set has more than half of the words, the rest is summed and taken from one.
"""

from __future__ import annotations

import numpy as np

from elman.counts.tables import Array, Tables


class SetMass:
    """The mass of one set after any context; remembers the contexts that it has computed."""

    def __init__(self, tables: Tables, members: Array) -> None:
        self._tables = tables
        self._is_rest = 2 * np.count_nonzero(members) > len(members)
        self._inside = ~members if self._is_rest else members
        self._known = [np.full(len(table), np.nan) for table in tables.tables[:-1]]
        unigrams = np.asarray(tables.tables[0].log_probs, dtype=float)
        self._of_nothing = float(np.exp(unigrams[self._inside]).sum())

    def log_masses(self, contexts: Array) -> Array:
        """The log probability of the set after each context, (N, H) -> (N,)."""
        numbers = self._tables.context_numbers(contexts)
        masses = np.full(len(contexts), self._of_nothing)
        for order in range(2, self._tables.order + 1):
            masses = self._longer(order, numbers, masses)
        masses = np.clip(1 - masses if self._is_rest else masses, 0, None)
        with np.errstate(divide="ignore"):
            return np.log(masses)

    def _longer(self, order: int, numbers: list[Array], shorter: Array) -> Array:
        """The masses after contexts of order - 1 words, from those after one word less."""
        known, own = self._known[order - 2], numbers[order - 2]
        stored = own >= 0
        missing = np.flatnonzero(stored)[np.isnan(known[own[stored]])]
        _, first = np.unique(own[missing], return_index=True)
        rows = missing[first]  # one row for each context that is new
        if len(rows):
            before = [each[rows] for each in numbers[: order - 1]]
            known[own[rows]] = self._compute(order, before, shorter[rows])
        return np.where(stored, known[own], shorter)

    def _compute(self, order: int, numbers: list[Array], shorter: Array) -> Array:
        """The masses after stored contexts; `numbers` of their last 1, 2, … order - 1 words."""
        contexts = numbers[-1]
        table, below = self._tables.tables[order - 1], self._tables.tables[order - 2]
        rows, entries = self._tables.followers(order, contexts)
        inside = self._inside[table.words[entries]]
        rows, entries = rows[inside], entries[inside]
        backed = self._shorter_log_probs(order, numbers, rows, table.words[entries])
        own = _sum_by(rows, np.exp(table.log_probs[entries]), len(contexts))
        replaced = _sum_by(rows, np.exp(backed), len(contexts))
        return own + np.exp(below.log_backoffs[contexts]) * (shorter - replaced)

    def _shorter_log_probs(
        self, order: int, numbers: list[Array], rows: Array, words: Array
    ) -> Array:
        """Log probabilities of words after the contexts of their rows, less the first word."""
        log_probs = np.asarray(self._tables.tables[0].log_probs[words], dtype=float)
        for shorter in range(2, order):
            contexts = numbers[shorter - 2][rows]
            table, below = self._tables.tables[shorter - 1], self._tables.tables[shorter - 2]
            found = self._tables.find(shorter, contexts, words)
            backoffs = np.where(contexts >= 0, below.log_backoffs[contexts], 0.0)
            stored = table.log_probs[found] if len(table) else np.zeros(found.shape)
            log_probs = np.where(found >= 0, stored, log_probs + backoffs)
        return log_probs


def _sum_by(rows: Array, values: Array, count: int) -> Array:
    return np.bincount(rows, weights=values, minlength=count)
