"""Bucketing: random batches of rows of similar length, with little padding.

For every epoch the rows are shuffled, cut into pools, sorted by length within a pool, and cut into
batches, which are shuffled again. The order depends only on the seed and the epoch.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from elman.batches.batch import Batch, Batches
from elman.batches.sources import Source, pad_rows, source_of_ids, source_of_vectors
from elman.errors import InputError

_BATCHES_PER_POOL = 50


class Buckets(Batches):
    """Batches of independent rows, in a new order for every epoch."""

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
    """The rows of each batch; without a seed, sorted by length."""
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


class Lines(Buckets):
    """A text line by line, in padded batches of similar length (bucketing).

    Every line is a row that starts from the initial state: its inputs are `<eos>` and its words,
    its targets are its words and `<eos>`.

        <eos> the cat sleeps   →   the cat sleeps <eos>
        <eos> it rains  ·      →   it rains <eos>  ·          · padding, never counted

    If `learned` is given, the other tokens are only read.
    """

    def __init__(
        self,
        ids: np.ndarray,
        *,
        batch_size: int,
        eos_id: int,
        seed: int = 0,
        learned: np.ndarray | None = None,  # bool per id; None: all
    ) -> None:
        if len(ids) == 0:
            raise InputError("there are no lines to train on")
        ends = np.flatnonzero(ids == eos_id) + 1
        if len(ends) == 0 or ends[-1] != len(ids):  # a last line without a newline
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


class Pairs(Buckets):
    """Pairs of a source and a target, in padded batches of similar length.

        source   ein Hund bellt <eos>    inputs  <eos> a dog barks   →   targets  a dog barks <eos>

    Every target starts from its source alone. Rows are sorted by the length of the target, then by
    that of the source. Takes arrays of ids, or of vectors as sources.
    """

    def __init__(
        self,
        sources: Sequence[np.ndarray],  # ids (S,), or with `vectors` numbers (S, F) or (F,)
        targets: Sequence[np.ndarray],  # ids (T,), without <eos>
        *,
        batch_size: int,
        eos_id: int,
        source_eos_id: int | None = None,  # None: the same as for the target
        places: Sequence[np.ndarray] | None = None,  # for copying, see `sources.py`
        vectors: bool = False,
        seed: int | None = 0,
    ) -> None:
        if len(sources) != len(targets):
            raise InputError(f"{len(sources):,} sources but {len(targets):,} targets; give pairs")
        if len(sources) == 0:
            raise InputError("there are no pairs to train on")
        self._sources, self._targets, self._places = sources, targets, places
        self._eos_id = eos_id
        self._source_eos_id = eos_id if source_eos_id is None else source_eos_id
        self._vectors = vectors
        self._target_lengths = np.array([len(target) + 1 for target in targets])
        source_lengths = np.array([len(source) for source in sources])
        order = self._target_lengths * (int(source_lengths.max()) + 1) + source_lengths
        super().__init__(order, batch_size, seed)
        self.tokens_per_epoch = int(self._target_lengths.sum())

    def _batch(self, rows: np.ndarray) -> Batch:
        targets = pad_rows([self._targets[row] for row in rows], self._eos_id, further=1)
        first = torch.full((len(rows), 1), self._eos_id)
        return Batch(
            torch.cat([first, targets[:, :-1]], dim=1),
            targets,
            torch.from_numpy(self._target_lengths[rows]),
            source=self._source(rows),
        )

    def _source(self, rows: np.ndarray) -> Source:
        sources = [self._sources[row] for row in rows]
        if self._vectors:
            return source_of_vectors(sources)
        places = None if self._places is None else [self._places[row] for row in rows]
        return source_of_ids(sources, self._source_eos_id, places, self._eos_id)
