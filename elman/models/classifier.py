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
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from elman.batches.sentences import ExampleBatch, Sentences
from elman.errors import InputError
from elman.layers.dropout import check_rate, dropout
from elman.layers.encoders import EncoderConfig, SentenceEncoder
from elman.layers.ngram_scores import NgramScores
from elman.layers.poolings import POOLINGS
from elman.matrix_products import LinearLayer
from elman.models.contract import Loss
from elman.models.sentence_model import SentenceModel
from elman.text.task_config import LabelledConfig


@dataclass(kw_only=True)
class ClassifierConfig(EncoderConfig):
    """A classifier."""

    pooling: str = "max"  # elman list poolings
    dropout_pooled: float = 0.3  # dropout of the sentence vector
    threshold: float = 0.5  # several labels per text: probability of a predicted label; 0: fitted
    ngrams: int = 0  # size of the hash table of the linear n-gram classifier; 0: none
    ngram_cost: float = 1.0  # of a wrong label in its fit, against large weights

    def __post_init__(self) -> None:
        super().__post_init__()
        POOLINGS.check(self.pooling)
        check_rate(self.dropout_pooled, "dropout_pooled")
        if not 0 <= self.threshold < 1:
            raise InputError(f"model.threshold={self.threshold}: must be from 0 to below 1")
        if self.ngrams < 0:
            raise InputError(f"model.ngrams={self.ngrams}: must not be negative")
        if self.ngram_cost <= 0:
            raise InputError(f"model.ngram_cost={self.ngram_cost:g}: must be greater than 0")


class Classifier(SentenceModel):
    """Predict the label of a sentence or of a pair."""

    about: ClassVar[str] = "predicts the label of a sentence or of a pair"
    task: ClassVar[str] = "classification"
    text_class: ClassVar[type] = LabelledConfig
    config_class: ClassVar[type] = ClassifierConfig
    unit: ClassVar[str] = "texts"
    mix: tuple[float, ...] | None = None  # weights of `opinions`; in training, the network alone

    def __init__(
        self,
        config: ClassifierConfig,
        counts: torch.Tensor,
        labels: int,
        texts: int = 1,
        words: float = 1.0,
        language_model: Any = None,
        *,
        several: bool = False,
    ) -> None:
        """`texts`: 1, or 2 for pairs; `words`: mean number of words of a training example;
        `language_model`: further word features, as for the tagger; `several`: any number of labels
        per text, each with its own probability (a sigmoid).
        """
        super().__init__()
        self.config = config
        self.several = several
        if several:
            self.judged_by = "label_error"
        self.words = words
        self.encoder = SentenceEncoder(config, counts, language_model)
        directions = 2 if config.encoder == "recurrent" and config.bidirectional else 1
        self.pooling = POOLINGS[config.pooling](self.encoder.size, directions)
        size = self.pooling.output_size
        self.scores = LinearLayer(size if texts == 1 else 4 * size, labels)
        self.ngrams = nn.ModuleList(
            NgramScores(labels, table=config.ngrams) for _ in range(texts if config.ngrams else 0)
        )

    def loss(self, batch: ExampleBatch, carried: Any = None) -> tuple[Loss, tuple[()]]:
        """Nats of the correct labels, each times the weight of its example.

        Labels unseen in training add no loss; `errors` counts them. The n-grams add none: they are
        fitted before the first step.
        """
        scores = self._network(batch.inputs)
        nats = self._nats_of_several(scores, batch) if self.several else _nats(scores, batch)
        return Loss(nats, batch.tokens, self.encoder.penalty()), ()

    def _nats_of_several(self, scores: torch.Tensor, batch: ExampleBatch) -> torch.Tensor:
        """Binary cross-entropy, summed over the labels."""
        right = batch.targets[:, 0, :-1]
        nats = binary_cross_entropy_with_logits(scores, right, reduction="none").sum(1)
        return (nats if batch.weights is None else nats * batch.weights).sum()

    @property
    def adjusted(self) -> bool:
        """Whether its answers also use the n-grams; during training, they do not."""
        return self.mix is not None

    @torch.no_grad()
    def judge(self, batch: ExampleBatch, carried: Any = None) -> tuple[Loss, tuple[()]]:
        """Wrong labels; of several, missed and false ones among all true and predicted, 1 - F1.

        The last target of a text counts its labels that training never saw.
        """
        if not self.several:
            return self._judge_one(batch)
        right, unseen = batch.targets[:, 0, :-1].bool(), batch.targets[:, 0, -1].sum()
        found = self.score(batch.inputs) > 0
        wrong = (right ^ found).sum() + unseen
        counted = int(right.sum() + found.sum() + unseen)
        return Loss(wrong.double(), counted), ()

    def errors(self, batch: ExampleBatch) -> int:
        """The number of wrong labels."""
        with torch.no_grad():
            wrong = self.score(batch.inputs).argmax(1) != batch.targets
        return int(wrong.sum())

    def _judge_one(self, batch: ExampleBatch) -> tuple[Loss, tuple[()]]:
        """Errors, each times the weight of its example."""
        if batch.weights is None:
            return super().judge(batch)
        wrong = self.score(batch.inputs).argmax(1) != batch.targets
        return Loss(batch.weights[wrong].double().sum(), batch.tokens), ()

    def multiplications(self, step_tokens: int, *, learning: bool = True) -> int:
        """Multiply-adds per example: the encoder reads all words, the scores are computed once."""
        scores = self.scores.weight.numel()
        return (
            round(self.words * (super().multiplications(step_tokens, learning=learning) - scores))
            + scores
        )

    def score(self, texts: tuple[Sentences, ...]) -> torch.Tensor:
        """Scores of the labels, (B, K): those of the network, or of the mix with its n-grams."""
        if self.mix is None:
            return self._network(texts)
        opinions = zip(self.mix, self.opinions(texts), strict=True)
        return _sum([weight * scores for weight, scores in opinions])

    def opinions(self, texts: tuple[Sentences, ...]) -> list[torch.Tensor]:
        """The scores of the network, of the n-grams, and of naive Bayes, (B, K) each."""
        pairs = zip(self.ngrams, texts, strict=True)
        linear = [part.with_naive_bayes(text) for part, text in pairs]  # type: ignore[operator]
        return [self._network(texts), *(_sum(each) for each in zip(*linear, strict=True))]

    def _network(self, texts: tuple[Sentences, ...]) -> torch.Tensor:
        pooled = [self.pooling(self.encoder(text), text.lengths) for text in texts]
        vector = pooled[0]
        if len(pooled) == 2:
            first, second = pooled
            vector = torch.cat([first, second, (first - second).abs(), first * second], dim=1)
        vector = dropout(vector, self.config.dropout_pooled, self.training)
        scores: torch.Tensor = self.scores(vector)
        return scores


def _nats(scores: torch.Tensor, batch: ExampleBatch) -> torch.Tensor:
    unseen = scores.shape[1]  # the number of a label unseen in training
    if batch.weights is None:
        return cross_entropy(scores, batch.targets, reduction="sum", ignore_index=unseen)
    each = cross_entropy(scores, batch.targets, reduction="none", ignore_index=unseen)
    return (each * batch.weights).sum()


def _sum(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    return functools.reduce(torch.add, parts)
