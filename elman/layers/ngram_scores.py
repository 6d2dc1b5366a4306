"""Scores of labels from the n-grams of a text: a linear classifier over hashed features.

    words, pairs of words, 3 to 5 characters ── places in a table ── weights, idf ── scores (B, K)

The tf-idf vector of a text has length 1. The weights are those of a linear support vector machine
(Joachims 1998), fitted to all training texts at once. A classifier adds these scores to those of
its network, because a linear classifier is hard to beat with a few hundred texts. `learn_ngrams`
also counts the weights of naive Bayes, a third opinion, useful where texts are few and short (Wang
and Manning 2012).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from elman.batches.sentences import Sentences
from elman.layers.hashing import character_ngrams, combine, into_table
from elman.layers.support_vectors import Bags, fit_support_vectors

_CHARACTERS = (3, 4, 5)
_PAIR = 9  # kinds of features; the kind of a character n-gram is its width
_WORD = 10
_COUNTED = 1000  # texts at once
_MOST_FEATURES = 100_000_000  # in the fit; of more text, an even part is taken


class NgramScores(nn.Module):
    """One weight per feature and label, initially zero."""

    idf: torch.Tensor  # (table,)
    weights: torch.Tensor  # (table, K): of the support vector machine
    bias: torch.Tensor  # (K,)
    ratios: torch.Tensor  # (table, K): the weights of naive Bayes

    def __init__(self, labels: int, *, table: int) -> None:
        """`table`: the size of the hash table."""
        super().__init__()
        self.table = table
        self.register_buffer("idf", torch.ones(table))
        self.register_buffer("weights", torch.zeros(table, labels))
        self.register_buffer("bias", torch.zeros(labels))
        self.register_buffer("ratios", torch.zeros(table, labels))

    def read(self, batches: Iterable[Sentences]) -> Found:
        """The features of all texts."""
        found, lengths = [], []
        for sentences in batches:
            places, real = self._features(sentences)
            found.append(places[real].int())
            lengths.append(real.sum(1))
        return Found(torch.cat(found), torch.cat(lengths))

    def count(self, found: Found, labels: torch.Tensor) -> None:
        """Count the texts with each feature; `labels`: which labels each text has (N, K).

        idf = ln((1 + texts) / (1 + texts with the feature)) + 1.
        """
        texts, by_label, start = torch.zeros(self.table), torch.zeros_like(self.ratios), 0
        for lengths, some in zip(
            torch.split(found.lengths, _COUNTED), torch.split(labels, _COUNTED), strict=True
        ):
            end = start + int(lengths.sum())
            rows = torch.repeat_interleave(torch.arange(len(lengths)), lengths)
            once = torch.unique(rows * self.table + found.places[start:end])  # once per text
            texts += torch.bincount(once % self.table, minlength=self.table)
            by_label.index_add_(0, once % self.table, some[once // self.table])
            start = end
        self.idf.copy_(((1 + len(labels)) / (1 + texts)).log() + 1)
        self.ratios.copy_(_log_ratios(texts, by_label))

    def bags(self, found: Found) -> Bags:
        """The tf-idf vectors of texts."""
        starts = found.lengths.cumsum(0) - found.lengths
        rows = torch.repeat_interleave(torch.arange(len(starts)), found.lengths)
        squares = torch.zeros(len(starts)).index_add_(0, rows, self.idf[found.places].square())
        return Bags(found.places, starts, squares.sqrt().clamp(min=1e-6).reciprocal(), self.idf)

    def forward(self, sentences: Sentences) -> torch.Tensor:
        """Scores (B, K), the margins of the support vector machine: mostly between -1 and 1."""
        places, values = self._weighted(sentences)
        return _bag(places, values, self.weights) + self.bias

    def with_naive_bayes(self, sentences: Sentences) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores (B, K), and those of naive Bayes."""
        places, values = self._weighted(sentences)
        scores = _bag(places, values, self.weights) + self.bias
        return scores, _bag(places, values, self.ratios)

    def mixed(self, fitted: float, naive_bayes: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Weights (table, K) and bias (K,): the weighted sum of those of both classifiers."""
        return fitted * self.weights + naive_bayes * self.ratios, fitted * self.bias

    def _weighted(self, sentences: Sentences) -> tuple[torch.Tensor, torch.Tensor]:
        """Places in the table (B, F), and the tf-idf vector at these places."""
        places, real = self._features(sentences)
        values = self.idf[places] * real
        values = values / values.square().sum(1, keepdim=True).sqrt().clamp(min=1e-6)
        return places, values

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


@dataclass(frozen=True)
class Found:
    """The features of texts: places in the table, text by text, and how many each text has."""

    places: torch.Tensor  # (features,)
    lengths: torch.Tensor  # (texts,)

    def part(self, texts: torch.Tensor) -> Found:
        """Those of some texts, in their order in the data."""
        chosen = torch.zeros(len(self.lengths), dtype=torch.bool)
        chosen[texts] = True
        return Found(
            self.places[torch.repeat_interleave(chosen, self.lengths)], self.lengths[texts]
        )


def learn_ngrams(
    parts: Sequence[NgramScores],
    texts: Sequence[Iterable[Sentences]],
    labels: torch.Tensor,
    cost: float,
    *,
    weights: torch.Tensor | None = None,
    seconds: float = math.inf,
) -> None:
    """Count and fit the weights of n-grams; `parts`: one for each text of an example.

    `texts`: those of each part, in batches; `labels`: which labels each example has (N, K);
    `cost`: of a wrong label, against large weights; `weights`: of the examples; `seconds`: the fit
    is stopped after this time.
    """
    found = [part.read(batches) for part, batches in zip(parts, texts, strict=True)]
    for part, features in zip(parts, found, strict=True):
        part.count(features, labels)
    most = max(len(features.places) for features in found)
    if most > _MOST_FEATURES:
        count = max(1, int(len(labels) * _MOST_FEATURES / most))
        chosen = torch.linspace(0, len(labels) - 1, count).long()
        found = [features.part(chosen) for features in found]
        labels, weights = labels[chosen], None if weights is None else weights[chosen]
    bags = [part.bags(features) for part, features in zip(parts, found, strict=True)]
    each, bias = fit_support_vectors(bags, labels, cost, weights=weights, seconds=seconds)
    for part, some, fitted in zip(parts, bags, each, strict=True):
        part.weights[some.used] = fitted
    parts[0].bias.copy_(bias)


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
