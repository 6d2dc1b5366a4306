"""Batches of sources for a decoder: sentences of another text, or vectors.

    ids       (B, S)      ids of the source tokens, each sentence with its <eos>; or
    vectors   (B, S, F)   given features: one vector per example (S = 1), or a grid of them
    lengths   (B,)        how many of the S are real, at least one
    places    (B, S)      for copying: the id of each source word in the target vocabulary;
                          V + k for the k-th distinct word of its sentence that is not in it

Takes arrays, gives a `Source`; called by the batches of pairs and by translation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch


@dataclass(frozen=True)
class Source:
    """A batch of sources, one per row."""

    lengths: torch.Tensor
    ids: torch.Tensor | None = None
    vectors: torch.Tensor | None = None
    places: torch.Tensor | None = None

    def __post_init__(self) -> None:
        if (self.ids is None) == (self.vectors is None):
            raise ValueError("a source has either ids or vectors")

    def __len__(self) -> int:
        return len(self.lengths)

    def to(self, device: torch.device) -> Source:
        """The same on a device."""
        return self._changed(lambda tensor: tensor.to(device))

    def rows(self, rows: slice | torch.Tensor) -> Source:
        """Some of its rows."""
        return self._changed(lambda tensor: tensor[rows])

    def _changed(self, change: Any) -> Source:
        parts = {name: value for name, value in vars(self).items() if value is not None}
        return replace(self, **{name: change(value) for name, value in parts.items()})


def source_of_ids(
    sentences: Sequence[np.ndarray],
    eos_id: int,
    places: Sequence[np.ndarray] | None = None,
    target_eos_id: int | None = None,
) -> Source:
    """A batch of sentences of ids, each with its <eos>; an empty one is <eos> alone.

    places: for copying, as above, one array per sentence of the same length; <eos> maps to the
    <eos> of the target (None: it has the same id).
    """
    lengths = torch.tensor([len(sentence) + 1 for sentence in sentences], dtype=torch.long)
    ids = pad_rows(sentences, eos_id, further=1)
    end = eos_id if target_eos_id is None else target_eos_id
    return Source(lengths, ids=ids, places=None if places is None else pad_rows(places, end, 1))


def source_of_vectors(examples: Sequence[np.ndarray]) -> Source:
    """A batch of examples with one vector (F,) or several (S, F) each."""
    grids = [np.atleast_2d(example) for example in examples]
    lengths = torch.tensor([len(grid) for grid in grids], dtype=torch.long)
    if int(lengths.min()) < 1:
        raise ValueError("a source needs at least one vector")
    vectors = np.zeros((len(grids), int(lengths.max()), grids[0].shape[1]), dtype=np.float32)
    for row, grid in enumerate(grids):
        vectors[row, : len(grid)] = grid
    return Source(lengths, vectors=torch.from_numpy(vectors))


def pad_rows(rows: Sequence[np.ndarray], padding: int, further: int = 0) -> torch.Tensor:
    """Rows of ids (B, longest + further), padded."""
    lengths = np.array([len(row) for row in rows])
    padded = np.full((len(rows), int(lengths.max(initial=0)) + further), padding, dtype=np.int64)
    if lengths.sum():
        padded[np.arange(padded.shape[1]) < lengths[:, None]] = np.concatenate(rows)
    return torch.from_numpy(padded)
