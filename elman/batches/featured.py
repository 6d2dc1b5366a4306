"""Sentences with features beside their words: further columns of a file, as numbers.

    words      Confidence in  the
    features   NN         IN  DT       (B, T, F): of F columns, 0 where a value is unknown

Takes sentences and their features, gives `FeaturedSentences` for one pass, batched as other
sentences are; called by the task of tagging.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from elman.batches.sentences import IndexedSentences, Sentences


@dataclass(frozen=True)
class FeaturedSentences(Sentences):
    """Sentences, and what else is known of their words."""

    features: torch.Tensor  # (B, T, F)

    def to(self, device: torch.device) -> FeaturedSentences:
        parts = (self.words, self.spelled, self.places, self.lengths, self.features)
        return FeaturedSentences(*(part.to(device) for part in parts))


class IndexedFeatures(IndexedSentences):
    """Sentences ready to be put side by side, with the features of their words."""

    def __init__(self, indexed: IndexedSentences, features: Sequence[np.ndarray]) -> None:
        """`indexed`: the sentences as numbers; `features`: (words, F) of each."""
        super().__init__(indexed._places, indexed._ids, indexed._spelled)
        self._features = features

    def batch(self, rows: np.ndarray) -> FeaturedSentences:
        sentences = super().batch(rows)
        shape = (*sentences.words.shape, self._features[0].shape[1])
        features = np.zeros(shape, dtype=np.int64)
        for row, number in enumerate(rows):
            features[row, : self.lengths[number]] = self._features[number]
        return FeaturedSentences(**vars(sentences), features=torch.from_numpy(features))
