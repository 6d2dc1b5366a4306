"""Explain a probability of a back-off model: the contribution of each order.

Takes tables, a context and a word, gives one row per order, from the longest context to none:

    order   context        count   total   probability
      3     to the          0       4      backoff(to the) * 0.2
      2     the             1       5      0.2  = alpha + backoff(the) * p of the row below
      1                    ...
      0     uniform                        1 / vocabulary size

All numbers come from the tables. For a model read from a file without counts, the fields that need
counts are None, and the rows end with order 1.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import exp
from typing import Any

import numpy as np

from elman.counts.tables import NOTHING, OrderTable, Tables

Array = np.ndarray


@dataclass(frozen=True, kw_only=True)
class OrderEvidence:
    """The evidence of one order for a word after a context."""

    order: int
    context: tuple[int, ...] = ()  # ids, oldest first: the last order - 1 words read
    count: int | None = None  # of context and word, as the smoother counts (Kneser-Ney: adjusted)
    total: int | None = None  # sum of such counts over the stored words after the context
    followers: int | None = None  # number of distinct words after the context
    discount: float | None = None  # subtracted from the count, where the smoother has discounts
    alpha: float  # the share of the context's probability that the n-gram itself gets
    backoff: float | None = None  # weight that the context gives to the order below
    # As if this order were the highest; None: undefined, because the context was never seen.
    probability: float | None
    answered: bool  # whether this is the longest n-gram found

    def to_data(self) -> dict[str, Any]:
        """The row as plain data."""
        return {**asdict(self), "context": list(self.context)}


def explain(
    tables: Tables,
    context: Sequence[int],
    word: int,
    *,
    interpolated: bool,
    defined_if_unseen: bool = True,
) -> list[OrderEvidence]:
    """The evidence for a word after a context, highest order first.

    `interpolated` tells how the orders are combined: p = alpha + backoff * p below for every
    word; or, if false, p = alpha for seen words and backoff * p below for the others. The first row
    has the probability of the model. Without `defined_if_unseen`, as for maximum likelihood, words
    after an unseen context have no probability.
    """
    known = _usable(tables, context)
    contexts = _context_numbers(tables, known)[: len(known)]
    rows = _lowest_rows(tables, word, interpolated)
    for order, number in enumerate(contexts, start=2):
        row = _row(tables, order, number, word, rows[-1].probability or 0.0, interpolated)
        if not defined_if_unseen and row.followers == 0:
            row = replace(row, backoff=None, probability=None)
        rows.append(replace(row, context=tuple(known[len(known) - order + 1 :])))
    answer = max(row.order for row in rows if row.answered)
    return [replace(row, answered=row.order == answer) for row in reversed(rows)]


def _usable(tables: Tables, context: Sequence[int]) -> list[int]:
    """The part of a context that n-grams can use: of the right length, known, and within a line.

    A context that crosses the start of a line is kept if the tables continue it: then the model was
    trained on a stream.
    """
    longest = tables.order - 1
    known = [int(number) for number in context][-longest:] if longest else []
    while NOTHING in known:
        known = known[known.index(NOTHING) + 1 :]
    while tables.eos_id in known[1:] and not _has_followers(tables, known):
        known = known[1:]
    return known


def _has_followers(tables: Tables, known: list[int]) -> bool:
    number = _context_numbers(tables, known)[len(known) - 1]
    return len(_followers(tables, len(known) + 1, number)) > 0


def _context_numbers(tables: Tables, known: list[int]) -> list[int]:
    """Numbers of the last 1, 2, … order - 1 words, or -1 where not stored."""
    missing = tables.order - 1 - len(known)
    padded = np.array([[NOTHING] * missing + known], dtype=np.int64)
    return [int(numbers[0]) for numbers in tables.context_numbers(padded)]


def _followers(tables: Tables, order: int, number: int) -> Array:
    return tables.followers(order, np.array([number]))[1]


def _row(
    tables: Tables, order: int, number: int, word: int, shorter: float, interpolated: bool
) -> OrderEvidence:
    """The row of an order above 1, from the number of its context and p of the order below."""
    table = tables.tables[order - 1]
    found = int(tables.find(order, np.array([number]), np.array([word]))[0])
    stored = found >= 0
    backoff = exp(tables.tables[order - 2].log_backoffs[number]) if number >= 0 else 1.0
    probability = exp(table.log_probs[found]) if stored else backoff * shorter
    kept = max(probability - backoff * shorter, 0.0) if interpolated else probability
    count, total, followers = _counts(table, found, _followers(tables, order, number))
    return OrderEvidence(
        order=order,
        count=count,
        total=total,
        followers=followers,
        discount=_discount(tables, order, count),
        alpha=kept if stored else 0.0,
        backoff=backoff,
        probability=probability,
        answered=stored,
    )


def _lowest_rows(tables: Tables, word: int, interpolated: bool) -> list[OrderEvidence]:
    """The rows of order 0, if it can be recovered, and of order 1."""
    table = tables.tables[0]
    uniform = 1 / tables.vocabulary_size
    probability = exp(table.log_probs[word])
    count, total, followers = _counts(table, word, np.arange(len(table)))
    backoff = _weight_of_uniform(tables, interpolated)
    if backoff is not None and interpolated:
        kept = max(probability - backoff * uniform, 0.0)
    else:
        kept = 0.0 if count == 0 else probability
    words = OrderEvidence(
        order=1,
        count=count,
        total=total,
        followers=followers,
        discount=_discount(tables, 1, count),
        alpha=kept,
        backoff=backoff,
        probability=probability,
        answered=count != 0,
    )
    if backoff is None:
        return [words]
    return [OrderEvidence(order=0, alpha=uniform, probability=uniform, answered=True), words]


def _counts(table: OrderTable, found: int, followers: Array) -> tuple[int | None, int | None, int]:
    """Count of the n-gram, sum over its context, and number of distinct words after the context."""
    if table.counts is None:
        return None, None, len(followers)
    counts = table.counts[followers].astype(np.int64)
    count = int(table.counts[found]) if found >= 0 else 0
    return count, int(counts.sum()), int(np.count_nonzero(counts))


def _discount(tables: Tables, order: int, count: int | None) -> float | None:
    """The discount of a count; the last discount of an order applies to all larger counts."""
    discounts = tables.discounts[order - 1] if tables.discounts else []
    if not discounts or count is None:
        return None
    return float([0.0, *discounts][min(count, len(discounts))])


def _weight_of_uniform(tables: Tables, interpolated: bool) -> float | None:
    """The weight that the unigrams give to the uniform distribution.

    The tables do not store it. An unseen word reveals it: p = weight / V. Interpolated, every word
    does: p = s k + (1 - s K) / V, where k is the count minus its discount, K the sum of all k, s
    unknown and the weight 1 - s K; the word that differs most from the mean is used.
    """
    table, size = tables.tables[0], tables.vocabulary_size
    if table.counts is None:
        return None
    if not interpolated:
        unseen = np.flatnonzero(table.counts == 0)
        return size * exp(table.log_probs[unseen[0]]) if len(unseen) else 0.0
    discounts = np.array([0.0, *(tables.discounts[0] if tables.discounts else [])])
    kept = table.counts - discounts[np.minimum(table.counts, len(discounts) - 1)]
    distances = kept - kept.mean()
    telling = int(np.argmax(np.abs(distances)))
    if distances[telling] == 0:  # all words are alike, so any weight gives the same p
        return 1.0
    share = (exp(table.log_probs[telling]) - 1 / size) / distances[telling]
    return float(np.clip(1 - share * kept.sum(), 0.0, 1.0))
