"""Which tokens of a text count: those after a mark in their line."""

from __future__ import annotations

import numpy as np


def after_mark(ids: np.ndarray, mark: int, eos_id: int, until: int | None = None) -> np.ndarray:
    """Which ids stand after a mark in their line, `<eos>` among them; bool, same length.

    With `until`, only up to the next of these, which is the last one that counts.
    """

    def last_before(number: int) -> np.ndarray:
        """Where the last of these stands before each id; -1: nowhere."""
        places = np.where(ids == number, np.arange(len(ids)), -1)
        return np.concatenate([[-1], np.maximum.accumulate(places)[:-1]])

    marks = last_before(mark)
    after = marks > last_before(eos_id)
    return after if until is None else after & (marks > last_before(until))
