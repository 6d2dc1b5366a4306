"""Vectors of what else is known of words: a part of speech, a lemma, any column of a file.

    features (B, T, F) ── a table for each of the F columns ── [;] ── (B, T, F · size)

Takes `FeaturedSentences`; called by `word_features.py`. A value that training never saw is number
0, whose vector begins as zero. It is learned where there are values that were seen once: as with
words, these are now and then taken for unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from elman.batches.featured import FeaturedSentences
from elman.batches.sentences import Sentences


class ColumnFeatures(nn.Module):
    """A vector for every value of every column."""

    def __init__(self, counts: Sequence[torch.Tensor], size: int, unknown_rate: float) -> None:
        """`counts`: how often each value of a column came in training."""
        super().__init__()
        self.tables = nn.ModuleList(_Values(one, size, unknown_rate) for one in counts)
        self.size = size * len(counts)

    def forward(self, sentences: Sentences) -> torch.Tensor:
        """(B, T, size)."""
        assert isinstance(sentences, FeaturedSentences), "the task gives them, as it was learned"
        values = sentences.features.unbind(2)
        vectors = [table(one) for table, one in zip(self.tables, values, strict=True)]
        return torch.cat(vectors, dim=2)


class _Values(nn.Module):
    """The vectors of one column."""

    once: torch.Tensor  # (V,) bool: values that were seen a single time in training

    def __init__(self, counts: torch.Tensor, size: int, unknown_rate: float) -> None:
        super().__init__()
        self.vectors = nn.Embedding(len(counts), size)
        bound = (3 / size) ** 0.5
        nn.init.uniform_(self.vectors.weight, -bound, bound)
        with torch.no_grad():
            self.vectors.weight[0] = 0
        self.unknown_rate = unknown_rate
        self.register_buffer("once", counts == 1)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """(B, T, size) of (B, T) numbers."""
        if self.training and self.unknown_rate:
            hidden = self.once[values] & (torch.rand(values.shape) < self.unknown_rate)
            values = values.masked_fill(hidden, 0)
        vectors: torch.Tensor = self.vectors(values)
        return vectors
