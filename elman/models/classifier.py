"""Classify a sentence or a pair of sentences: an encoder, a pooling, and a softmax over labels.

    sentence ── encoder ── hidden (B, T, size) ── pooling ── u (B, size) ── scores (B, K)
    a pair   ── the same encoder for both ── u, v ── [u; v; |u - v|; u ∘ v] ── scores

Pairs as in InferSent (Conneau et al. 2017).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from elman.batches.sentences import ExampleBatch, Sentences
from elman.errors import InputError
from elman.layers.dropout import check_rate, dropout
from elman.layers.encoders import EncoderConfig, SentenceEncoder
from elman.layers.ngram_scores import NgramScores
from elman.layers.poolings import POOLINGS
from elman.models.contract import Loss
from elman.models.sentence_model import SentenceModel
from elman.text.task_config import LabelledConfig


@dataclass(kw_only=True)
class ClassifierConfig(EncoderConfig):
    """A classifier."""

    pooling: str = "max"  # elman list poolings
    dropout_pooled: float = 0.3  # dropout of the sentence vector
    ngrams: int = 0  # size of the hash table of the linear n-gram classifier; 0: none
    dropout_ngrams: float = 0.5  # dropout of the n-grams of a sentence

    def __post_init__(self) -> None:
        super().__post_init__()
        POOLINGS.check(self.pooling)
        check_rate(self.dropout_pooled, "dropout_pooled")
        check_rate(self.dropout_ngrams, "dropout_ngrams")
        if self.ngrams < 0:
            raise InputError(f"model.ngrams={self.ngrams}: must not be negative")


class Classifier(SentenceModel):
    """Predict the label of a sentence or of a pair."""

    about: ClassVar[str] = "predicts the label of a sentence or of a pair"
    task: ClassVar[str] = "classification"
    text_class: ClassVar[type] = LabelledConfig
    config_class: ClassVar[type] = ClassifierConfig

    def __init__(
        self,
        config: ClassifierConfig,
        counts: torch.Tensor,
        labels: int,
        texts: int = 1,
        words: float = 1.0,
        language_model: Any = None,
    ) -> None:
        """`texts`: 1, or 2 for pairs; `words`: mean number of words of a training example;
        `language_model`: further word features, as for the tagger.
        """
        super().__init__()
        self.config = config
        self.words = words
        self.encoder = SentenceEncoder(config, counts, language_model)
        directions = 2 if config.encoder == "recurrent" and config.bidirectional else 1
        self.pooling = POOLINGS[config.pooling](self.encoder.size, directions)
        size = self.pooling.output_size
        self.scores = nn.Linear(size if texts == 1 else 4 * size, labels)
        self.ngrams = nn.ModuleList(
            NgramScores(labels, table=config.ngrams, dropout=config.dropout_ngrams)
            for _ in range(texts if config.ngrams else 0)
        )

    def loss(self, batch: ExampleBatch, carried: Any = None) -> tuple[Loss, tuple[()]]:
        """Nats of the correct labels. Labels unseen in training add no loss; `errors` has them."""
        parts = self._parts(batch.inputs)
        unseen = parts[0].shape[1]  # its number
        nats = cross_entropy(_sum(parts), batch.targets, reduction="sum", ignore_index=unseen)
        penalty = self.encoder.penalty()
        if len(parts) > 1:  # each also learns alone, or one would leave the other no gradient
            alone = [cross_entropy(part, batch.targets, ignore_index=unseen) for part in parts]
            penalty = penalty + _sum(alone)
        return Loss(nats, batch.tokens, penalty), ()

    def errors(self, batch: ExampleBatch) -> int:
        """The number of wrong labels."""
        with torch.no_grad():
            wrong = self.score(batch.inputs).argmax(1) != batch.targets
        return int(wrong.sum())

    def multiplications(self, step_tokens: int, *, learning: bool = True) -> int:
        """Multiply-adds per example: the encoder reads all words, the scores are computed once."""
        scores = self.scores.weight.numel()
        return (
            round(self.words * (super().multiplications(step_tokens, learning=learning) - scores))
            + scores
        )

    def score(self, texts: tuple[Sentences, ...]) -> torch.Tensor:
        """Scores of the labels, (B, K)."""
        return _sum(self._parts(texts))

    def _parts(self, texts: tuple[Sentences, ...]) -> list[torch.Tensor]:
        """The scores of the network, and those of the n-grams if there are any."""
        pooled = [self.pooling(self.encoder(text), text.lengths) for text in texts]
        vector = pooled[0]
        if len(pooled) == 2:
            first, second = pooled
            vector = torch.cat([first, second, (first - second).abs(), first * second], dim=1)
        vector = dropout(vector, self.config.dropout_pooled, self.training)
        linear = [part(text) for part, text in zip(self.ngrams, texts, strict=False)]
        return [self.scores(vector), *([_sum(linear)] if linear else [])]


def _sum(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    return functools.reduce(torch.add, parts)
