"""Pairs of a source and a target: rows of like length side by side, padded.

    source   ein Hund bellt <eos>      inputs  <eos> a dog barks   →   targets  a dog barks <eos>

Every target starts from nothing but its source. Rows are put together by the length of the target,
and of those by that of the source (`buckets.py`). Takes arrays of ids, or of vectors as sources,
gives `Batch`es; called by the task of translation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from elman.batches.batch import Batch
from elman.batches.buckets import Buckets
from elman.batches.sources import Source, pad_rows, source_of_ids, source_of_vectors
from elman.errors import InputError


class Pairs(Buckets):
    """Batches of pairs, in an order of their own for every epoch; without a seed, by length."""

    def __init__(
        self,
        sources: Sequence[np.ndarray],  # ids (S,), or with `vectors` numbers (S, F) or (F,)
        targets: Sequence[np.ndarray],  # ids (T,), without <eos>
        *,
        batch_size: int,
        eos_id: int,
        source_eos_id: int | None = None,  # None: the target's
        places: Sequence[np.ndarray] | None = None,  # for copying, see `sources.py`
        vectors: bool = False,
        seed: int | None = 0,
    ) -> None:
        if len(sources) != len(targets):
            raise InputError(f"{len(sources):,} sources and {len(targets):,} targets: not pairs")
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
