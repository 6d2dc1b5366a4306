"""Sentences with further inputs: features of each word, or matches in another sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from elman.batches.sentences import IndexedSentences, Sentences


@dataclass(frozen=True)
class FeaturedSentences(Sentences):
    """Sentences with features of their words: further columns of a file, as ids.

        words      Confidence in  the
        features   NN         IN  DT       (B, T, F) for F columns, 0 for an unknown value

    Takes sentences and their features, gives `FeaturedSentences` for one pass, batched like other
    sentences; called by tagging.
    """

    features: torch.Tensor  # (B, T, F)


class IndexedFeatures(IndexedSentences):
    """Sentences ready for batching, with the features of their words."""

    def __init__(self, indexed: IndexedSentences, features: Sequence[np.ndarray]) -> None:
        """`indexed`: the sentences as ids; `features`: (words, F) for each sentence."""
        super().__init__(indexed._places, indexed._ids, indexed._spelled)
        self._features = features

    def batch(self, rows: np.ndarray) -> FeaturedSentences:
        sentences = super().batch(rows)
        shape = (*sentences.words.shape, self._features[0].shape[1])
        features = np.zeros(shape, dtype=np.int64)
        for row, number in enumerate(rows):
            features[row, : self.lengths[number]] = self._features[number]
        return FeaturedSentences(**vars(sentences), features=torch.from_numpy(features))


@dataclass(frozen=True)
class MatchedSentences(Sentences):
    """Sentences with marks on the words that also occur in another sentence, ignoring case.

        question   where is Mary ?
        passage    Mary went to the garden .        matched  1 0 0 0 0 0

    Takes sentences and the sentences to compare them with, gives `MatchedSentences` for one pass,
    batched like other sentences; called by question answering.
    """

    matched: torch.Tensor  # (B, T) bool


class IndexedMatches(IndexedSentences):
    """Sentences ready for batching, each with its matches in another sentence."""

    def __init__(
        self,
        indexed: IndexedSentences,
        sentences: Sequence[Sequence[str]],
        others: Sequence[Sequence[str]],
    ) -> None:
        """`indexed`: the same sentences as ids; `others`: one for each."""
        super().__init__(indexed._places, indexed._ids, indexed._spelled)
        self._matched = [
            find_matches(sentence, other) for sentence, other in zip(sentences, others, strict=True)
        ]

    def batch(self, rows: np.ndarray) -> MatchedSentences:
        sentences = super().batch(rows)
        matched = np.zeros(sentences.words.shape, dtype=bool)
        for row, number in enumerate(rows):
            matched[row, : self.lengths[number]] = self._matched[number]
        return MatchedSentences(**vars(sentences), matched=torch.from_numpy(matched))


def find_matches(sentence: Sequence[str], other: Sequence[str]) -> np.ndarray:
    """Which words of a sentence occur in the other one, ignoring case."""
    known = {word.lower() for word in other}
    return np.array([word.lower() in known for word in sentence], dtype=bool)
