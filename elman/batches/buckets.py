"""Rows of like length side by side: random, and little of a batch is padding.

For every epoch the rows are shuffled, cut into pools, sorted by length within a pool, and cut into
batches, which are shuffled again. What stands where follows from the seed and the epoch alone.
"""

from __future__ import annotations

import numpy as np

_BATCHES_PER_POOL = 50


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
