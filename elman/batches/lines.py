"""A text line by line: rows of like length side by side, padded (bucketing).

Every line is a row of its own that starts from nothing: its inputs are `<eos>` and its words, its
targets its words and `<eos>`. How lines come to stand side by side is said in `buckets.py`.

    <eos> the cat sleeps   →   the cat sleeps <eos>
    <eos> it rains  ·      →   it rains <eos>  ·          · padding, never counted

Where it is said which tokens are `learned`, the others are only read.
"""

from __future__ import annotations

import numpy as np
import torch

from elman.batches.batch import Batch
from elman.batches.buckets import Buckets
from elman.errors import InputError


class Lines(Buckets):
    """Batches of whole lines, in an order of their own for every epoch."""

    def __init__(
        self,
        ids: np.ndarray,
        *,
        batch_size: int,
        eos_id: int,
        seed: int = 0,
        learned: np.ndarray | None = None,  # bool, of each id; None: all
    ) -> None:
        if len(ids) == 0:
            raise InputError("there are no lines to train on")
        ends = np.flatnonzero(ids == eos_id) + 1
        if len(ends) == 0 or ends[-1] != len(ids):  # a last line that no newline ends
            ids, ends = np.append(ids, eos_id), np.append(ends, len(ids) + 1)
            learned = None if learned is None else np.append(learned, True)
        self._ids = ids
        self._learned = learned
        self._starts = np.concatenate([[0], ends[:-1]])
        self._eos_id = eos_id
        super().__init__(ends - self._starts, batch_size, seed)
        self.tokens_per_epoch = len(ids)

    def _batch(self, rows: np.ndarray) -> Batch:
        lengths = self._lengths[rows]
        steps = np.arange(lengths.max())
        within = steps < lengths[:, None]
        places = np.where(within, self._starts[rows][:, None] + steps, 0)
        targets = np.where(within, self._ids[places], self._eos_id)
        inputs = np.concatenate([np.full((len(rows), 1), self._eos_id), targets[:, :-1]], axis=1)
        learned = None if self._learned is None else torch.from_numpy(self._learned[places])
        return Batch(
            torch.from_numpy(inputs),
            torch.from_numpy(targets),
            torch.from_numpy(lengths),
            learned=learned,
        )

    @property
    def learned_per_epoch(self) -> int:
        return len(self._ids) if self._learned is None else int(self._learned.sum())
