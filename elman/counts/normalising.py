"""Compute the back-off weights that make every distribution of a back-off model sum to one.

Used after n-grams were added (`merging.py`) or removed (`pruning.py`). The weight of a context h is

    backoff(h) = (1 - sum of p(w | h)) / (1 - sum of p(w | shorter h)),

where both sums are over the words that are stored after h.
"""

from dataclasses import dataclass, replace

import numpy as np

from elman.counts.tables import OrderTable, Tables

Array = np.ndarray
_NOTHING_LEFT = 1e-12  # mass that is only rounding
_ROWS = 1 << 19  # n-grams that are scored at a time


@dataclass
class Masses:
    """The n-grams of one order and their contexts, one order down, as probabilities."""

    probs: Array  # p(w | h) of each n-gram
    shorter: Array  # p(w | shorter h) of each n-gram
    left: Array  # per context: 1 - sum of p(w | h)
    left_shorter: Array  # per context: 1 - sum of p(w | shorter h)

    @property
    def exhausted(self) -> Array:
        """Which contexts have nothing to back off to: all words with any mass are stored."""
        return self.left_shorter < _NOTHING_LEFT


def ngram_words(tables: list[OrderTable], order: int) -> Array:
    """The words of every n-gram of an order, (N, order)."""
    rows = tables[0].words[:, None]
    for table in tables[1:order]:
        rows = np.concatenate([rows[table.prefixes], table.words[:, None]], axis=1)
    return rows


def score_last(tables: Tables, rows: Array) -> Array:
    """Log probability of the last word of each row, given the words before it."""
    if rows.shape[1] == 1:
        return tables.tables[0].log_probs[rows[:, 0]]
    parts = [
        tables.score(rows[start : start + _ROWS])[:, -1] for start in range(0, len(rows), _ROWS)
    ]
    return np.concatenate(parts) if parts else np.zeros(0)


def masses(lower: Tables, table: OrderTable, rows: Array) -> Masses:
    """What the contexts of an order give away and keep; `lower` has all lower orders."""
    contexts = len(lower.tables[-1])
    probs, shorter = np.exp(table.log_probs), np.exp(score_last(lower, rows[:, 1:]))
    given = np.bincount(table.prefixes, weights=probs, minlength=contexts)
    given_shorter = np.bincount(table.prefixes, weights=shorter, minlength=contexts)
    return Masses(probs, shorter, np.maximum(1.0 - given, 0.0), 1.0 - given_shorter)


def normalised(tables: Tables) -> Tables:
    """The same n-grams with new back-off weights; `tables` keeps its own.

    If all words with any mass are stored after a context, their probabilities are divided by their
    sum, and the weight is zero.
    """
    done = [tables.tables[0]]
    for order in range(2, tables.order + 1):
        table = tables.tables[order - 1]
        rows = ngram_words([*done, table], order)
        found = masses(Tables(done, tables.vocabulary_size, tables.eos_id), table, rows)
        followed = np.bincount(table.prefixes, minlength=len(done[-1])) > 0
        done[-1] = done[-1].changed(log_backoffs=_log_backoffs(found, followed))
        done.append(_scaled(table, found))
    done[-1] = done[-1].changed(log_backoffs=np.zeros(len(done[-1])))
    return replace(tables, tables=done)


def _log_backoffs(found: Masses, followed: Array) -> Array:
    """The logarithm of each weight; 0 for a context that nothing follows."""
    exhausted = found.exhausted
    weights = np.where(exhausted, 0.0, found.left / np.where(exhausted, 1.0, found.left_shorter))
    with np.errstate(divide="ignore"):
        return np.where(followed, np.log(weights), 0.0)


def _scaled(table: OrderTable, found: Masses) -> OrderTable:
    given = np.bincount(table.prefixes, weights=found.probs, minlength=len(found.left))
    too_much = (found.exhausted | (given > 1.0)) & (given > 0)
    if not too_much.any():
        return table
    scales = np.where(too_much, np.log(np.where(too_much, given, 1.0)), 0.0)
    return table.changed(log_probs=table.log_probs - scales[table.prefixes])
