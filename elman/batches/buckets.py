"""Rows of like length side by side: random, and little of a batch is padding.

For every epoch the rows are shuffled, cut into pools, sorted by length within a pool, and cut into
batches, which are shuffled again. What stands where follows from the seed and the epoch alone.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from elman.batches.batch import Batches

_BATCHES_PER_POOL = 50


class Buckets(Batches):
    """Batches of rows by themselves, in an order of their own for every epoch."""

    carries_state = False

    def __init__(self, lengths: np.ndarray, batch_size: int, seed: int | None) -> None:
        self._lengths = lengths
        self._batch_size = batch_size
        self._seed = seed
        self._epoch = self._number = 0
        self._plan = self._plan_epoch()

    @abstractmethod
    def _batch(self, rows: np.ndarray) -> Any:
        """The batch of these rows."""

    @property
    def steps_per_epoch(self) -> int:
        return len(self._plan)

    def next(self) -> Any:
        if self._number == len(self._plan):
            self._epoch, self._number = self._epoch + 1, 0
            self._plan = self._plan_epoch()
            return None
        rows = self._plan[self._number]
        self._number += 1
        return self._batch(rows)

    def _plan_epoch(self) -> list[np.ndarray]:
        return plan_epoch(self._lengths, self._batch_size, self._seed, self._epoch)

    def position(self) -> dict[str, Any]:
        return {"epoch": self._epoch, "number": self._number}

    def go_to(self, position: dict[str, Any]) -> None:
        self._epoch, self._number = position["epoch"], position["number"]
        self._plan = self._plan_epoch()


def plan_epoch(
    lengths: np.ndarray, batch_size: int, seed: int | None, epoch: int
) -> list[np.ndarray]:
    """Which rows stand in which batch; without a seed, simply by length."""
    if seed is None:
        order = np.argsort(lengths, kind="stable")
        return [order[first : first + batch_size] for first in range(0, len(order), batch_size)]
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(lengths))
    batches = []
    for first in range(0, len(order), batch_size * _BATCHES_PER_POOL):
        pool = order[first : first + batch_size * _BATCHES_PER_POOL]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        batches += [pool[begin : begin + batch_size] for begin in range(0, len(pool), batch_size)]
    return [batches[number] for number in random.permutation(len(batches))]
