"""Scores of labels from the n-grams of a text: a linear classifier over hashed features.

    words, pairs of words, 3 to 5 characters ── places in a table ── weights, idf ── scores (B, K)

The tf-idf vector of a text has length 1, as for a linear support vector machine (Joachims 1998). A
classifier adds these scores to those of its network: with a few hundred texts, a linear classifier
is hard to beat. `count` counts once how many training texts contain each feature, all and by label.
From the counts follow the weights of naive Bayes, which are not trained: a third opinion, useful
where texts are few and short (Wang and Manning 2012).
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
    ratios: torch.Tensor  # (table, K): the weights of naive Bayes

    def __init__(self, labels: int, *, table: int, dropout: float) -> None:
        """`table`: the size of the hash table; `dropout`: how many features of a text to drop."""
        super().__init__()
        self.table = table
        self.dropout = dropout
        self.vectors = nn.Embedding(table, labels)
        nn.init.zeros_(self.vectors.weight)
        self.register_buffer("idf", torch.ones(table))
        self.register_buffer("ratios", torch.zeros(table, labels))

    def count(self, batches: Iterable[tuple[Sentences, torch.Tensor]]) -> None:
        """Count the texts with each feature; `batches`: texts, and which labels each has (B, K).

        idf = ln((1 + texts) / (1 + texts with the feature)) + 1.
        """
        found, by_label, texts = torch.zeros(self.table), torch.zeros_like(self.ratios), 0
        for sentences, labels in batches:
            places, real = self._features(sentences)
            rows = torch.arange(len(places)).unsqueeze(1) * self.table
            once = torch.unique((rows + places)[real])  # once per text
            found += torch.bincount(once % self.table, minlength=self.table)
            by_label.index_add_(0, once % self.table, labels[once // self.table].to(by_label))
            texts += len(sentences)
        self.idf.copy_(((1 + texts) / (1 + found)).log() + 1)
        self.ratios.copy_(_log_ratios(found, by_label))

    def forward(self, sentences: Sentences) -> torch.Tensor:
        """Scores (B, K)."""
        places, values = self._weighted(sentences)
        return _SCALE * _bag(places, values, self.vectors.weight)

    def with_naive_bayes(self, sentences: Sentences) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores (B, K), and those of naive Bayes."""
        places, values = self._weighted(sentences)
        scores = _SCALE * _bag(places, values, self.vectors.weight)
        return scores, _bag(places, values, self.ratios)

    def mixed_weights(self, trained: float, naive_bayes: float) -> torch.Tensor:
        """The weights whose scores are this mix of both, (table, K)."""
        return trained * self.vectors.weight.detach() + naive_bayes / _SCALE * self.ratios

    def _weighted(self, sentences: Sentences) -> tuple[torch.Tensor, torch.Tensor]:
        """Places in the table (B, F), and the tf-idf vector at these places."""
        places, real = self._features(sentences)
        values = self.idf[places] * real
        values = values / values.square().sum(1, keepdim=True).sqrt().clamp(min=1e-6)
        return places, nn.functional.dropout(values, self.dropout, self.training)

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


def _bag(places: torch.Tensor, values: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Weighted sums of rows of a table (B, K)."""
    return nn.functional.embedding_bag(places, weights, per_sample_weights=values, mode="sum")


def _log_ratios(found: torch.Tensor, by_label: torch.Tensor) -> torch.Tensor:
    """ln(p(f | k) / p(f | not k)) / 2 of each feature f and label k, (table, K); 0 if unseen.

    `found`: texts with each feature; `by_label`: those with each label. One is added to each count
    of a feature that occurs. For two labels, the difference of the scores is the log ratio.
    """
    seen = (found > 0).unsqueeze(1)
    inside = (by_label + 1) * seen
    outside = (found.unsqueeze(1) - by_label + 1) * seen
    ratios = (inside / inside.sum(0)).log() - (outside / outside.sum(0)).log()
    return ratios.where(seen, 0.0) / 2
