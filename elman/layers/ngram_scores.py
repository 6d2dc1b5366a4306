"""Scores of labels from the n-grams of a text: a linear classifier over hashed features.

    words, pairs of words, 3 to 5 characters ── places in a table ── weights, idf ── scores (B, K)

The tf-idf vector of a text has length 1, as for a linear support vector machine (Joachims 1998). A
classifier adds these scores to those of its network: with a few hundred texts, a linear classifier
is hard to beat. `count` counts once how many training texts contain each feature.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from elman.batches.sentences import Sentences
from elman.layers.hashing import character_ngrams, combine, into_table

_CHARACTERS = (3, 4, 5)
_PAIR = 9  # kinds of features; the kind of a character n-gram is its width
_WORD = 10
# A vector of length 1 needs large weights. With this factor, the scores grow as fast as those of
# the network, which would otherwise dominate the sum.
_SCALE = 8.0


class NgramScores(nn.Module):
    """One weight per feature and label, initially zero."""

    idf: torch.Tensor  # (table,)

    def __init__(self, labels: int, *, table: int, dropout: float) -> None:
        """`table`: the size of the hash table; `dropout`: how many features of a text to drop."""
        super().__init__()
        self.table = table
        self.dropout = dropout
        self.vectors = nn.Embedding(table, labels)
        nn.init.zeros_(self.vectors.weight)
        self.register_buffer("idf", torch.ones(table))

    def count(self, batches: Iterable[Sentences]) -> None:
        """Count the texts with each feature: idf = ln((1 + texts) / (1 + texts with it)) + 1."""
        found, texts = torch.zeros(self.table), 0
        for sentences in batches:
            places, real = self._features(sentences)
            rows = torch.arange(len(places)).unsqueeze(1) * self.table
            once = torch.unique((rows + places)[real]) % self.table  # once per text
            found += torch.bincount(once, minlength=self.table)
            texts += len(sentences)
        self.idf.copy_(((1 + texts) / (1 + found)).log() + 1)

    def forward(self, sentences: Sentences) -> torch.Tensor:
        """Scores (B, K)."""
        places, real = self._features(sentences)
        values = self.idf[places] * real
        values = values / values.square().sum(1, keepdim=True).sqrt().clamp(min=1e-6)
        values = nn.functional.dropout(values, self.dropout, self.training)
        scores: torch.Tensor = nn.functional.embedding_bag(
            places, self.vectors.weight, per_sample_weights=values, mode="sum"
        )
        return _SCALE * scores

    def _features(self, sentences: Sentences) -> tuple[torch.Tensor, torch.Tensor]:
        """Places in the table (B, F), and which features exist."""
        words, real = sentences.words, sentences.real()
        known = real & (words != 0)
        pairs = combine(words.unfold(1, 2, 1), _PAIR) if words.shape[1] > 1 else words[:, :0]
        parts = [combine(words.unsqueeze(2), _WORD), pairs]
        there = [known, known[:, 1:] & known[:, :-1]]
        for width in _CHARACTERS:
            ngrams, whole = character_ngrams(sentences.spelled, width)
            parts.append(ngrams[sentences.places].flatten(1))  # (B, T · L)
            there.append((whole[sentences.places] & real.unsqueeze(2)).flatten(1))
        return into_table(torch.cat(parts, 1), self.table), torch.cat(there, 1)
