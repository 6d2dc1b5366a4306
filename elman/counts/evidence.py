"""Say how a back-off model came to a probability: what each order had to offer.

Takes tables, a context and a word, gives one row per order, from the longest context to none:

    order   context        count   total   probability
      3     to the          0       4      backoff(to the) * 0.2
      2     the             1       5      0.2  = alpha + backoff(the) * p of the row below
      1                    ...
      0     uniform                        1 / vocabulary size

All numbers come out of the tables. Where a model was read from a file that keeps no counts, what
follows from counts is None, and the rows end with order 1.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import exp
from typing import Any

import numpy as np

from elman.counts.tables import NOTHING, Table, Tables

Array = np.ndarray


@dataclass(frozen=True, kw_only=True)
class OrderEvidence:
    """What one order knows of a word after a context."""

    order: int
    context: tuple[int, ...]  # ids, oldest first: the last order - 1 words read
    count: int | None  # of context and word, as the smoother counts (Kneser-Ney: adjusted)
    total: int | None  # sum of such counts over all stored words after the context
    followers: int | None  # how many different words have followed the context
    discount: float | None  # taken off the count; None where the smoother has no discounts
    alpha: float  # what the n-gram itself keeps of the context's probability
    backoff: float | None  # weight the context gives the order below; None: unknown or no order
    probability: float  # of the word, as if this order were the highest
    answered: bool  # the longest n-gram that was found

    def to_data(self) -> dict[str, Any]:
        """The row as plain data."""
        return {**asdict(self), "context": list(self.context)}


def explain(
    tables: Tables, context: Sequence[int], word: int, *, interpolated: bool
) -> list[OrderEvidence]:
    """The evidence for a word after a context, highest order first.

    `interpolated` says how the orders were put together: p = alpha + backoff * p below for every
    word, or, if false, p = alpha for words that were seen and backoff * p below for the others.
    The first row's probability is that of the model.
    """
    numbers = _context_numbers(tables, context)
    rows = _lowest_rows(tables, word, interpolated)
    for order, number in enumerate(numbers, start=2):
        known = tuple(context[len(context) - order + 1 :])
        rows.append(_row(tables, order, known, number, word, rows[-1].probability, interpolated))
    answer = max((row.order for row in rows if _found(row, tables)), default=rows[0].order)
    return [_mark(row, row.order == answer) for row in reversed(rows)]
