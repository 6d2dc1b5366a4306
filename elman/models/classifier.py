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
    dropout_ngrams: float = 0.5  # dropout of the n-grams of a sentence

    def __post_init__(self) -> None:
        super().__post_init__()
        POOLINGS.check(self.pooling)
        check_rate(self.dropout_pooled, "dropout_pooled")
        if not 0 <= self.threshold < 1:
            raise InputError(f"model.threshold={self.threshold}: must be from 0 to below 1")
        check_rate(self.dropout_ngrams, "dropout_ngrams")
        if self.ngrams < 0:
            raise InputError(f"model.ngrams={self.ngrams}: must not be negative")


class Classifier(SentenceModel):
    """Predict the label of a sentence or of a pair."""

    about: ClassVar[str] = "predicts the label of a sentence or of a pair"
    task: ClassVar[str] = "classification"
    text_class: ClassVar[type] = LabelledConfig
    config_class: ClassVar[type] = ClassifierConfig
    unit: ClassVar[str] = "texts"
    mix: tuple[float, ...] | None = None  # weights of `opinions`, fitted on validation

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
        self.scores = nn.Linear(size if texts == 1 else 4 * size, labels)
        self.ngrams = nn.ModuleList(
            NgramScores(labels, table=config.ngrams, dropout=config.dropout_ngrams)
            for _ in range(texts if config.ngrams else 0)
        )

    def loss(self, batch: ExampleBatch, carried: Any = None) -> tuple[Loss, tuple[()]]:
        """Nats of the correct labels, each times the weight of its example.

        Labels unseen in training add no loss; `errors` counts them.
        """
        if self.several:
            return self._loss_of_several(batch), ()
        parts = self._parts(batch.inputs)
        nats = _nats(_sum(parts), batch)
        penalty = self.encoder.penalty()
        if len(parts) > 1:  # each also learns alone, or one would leave the other no gradient
            penalty = penalty + _sum([_nats(part, batch, mean=True) for part in parts])
        return Loss(nats, batch.tokens, penalty), ()

    def _loss_of_several(self, batch: ExampleBatch) -> Loss:
        """Binary cross-entropy, summed over the labels."""
        parts = self._parts(batch.inputs)
        right = batch.targets[:, 0, :-1]

        def nats(scores: torch.Tensor) -> torch.Tensor:
            found = binary_cross_entropy_with_logits(scores, right, reduction="none").sum(1)
            return (found if batch.weights is None else found * batch.weights).sum()

        penalty = self.encoder.penalty()
        if len(parts) > 1:
            penalty = penalty + _sum([nats(part) for part in parts]) / batch.tokens
        return Loss(nats(_sum(parts)), batch.tokens, penalty)

    @property
    def adjusted(self) -> bool:
        """Whether it answers otherwise than it was trained: with a mix that was fitted."""
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
        """Scores of the labels, (B, K); the plain sum of network and n-grams, or their mix."""
        if self.mix is None:
            return _sum(self._parts(texts))
        opinions = zip(self.mix, self.opinions(texts), strict=True)
        return _sum([weight * scores for weight, scores in opinions])

    def opinions(self, texts: tuple[Sentences, ...]) -> list[torch.Tensor]:
        """The scores of the network, of the n-grams, and of naive Bayes, (B, K) each."""
        pairs = zip(self.ngrams, texts, strict=True)
        linear = [part.with_naive_bayes(text) for part, text in pairs]  # type: ignore[operator]
        return [self._network(texts), *(_sum(each) for each in zip(*linear, strict=True))]

    def _parts(self, texts: tuple[Sentences, ...]) -> list[torch.Tensor]:
        """The scores of the network, and those of the n-grams if there are any."""
        network = self._network(texts)
        linear = [part(text) for part, text in zip(self.ngrams, texts, strict=False)]
        return [network, *([_sum(linear)] if linear else [])]

    def _network(self, texts: tuple[Sentences, ...]) -> torch.Tensor:
        pooled = [self.pooling(self.encoder(text), text.lengths) for text in texts]
        vector = pooled[0]
        if len(pooled) == 2:
            first, second = pooled
            vector = torch.cat([first, second, (first - second).abs(), first * second], dim=1)
        vector = dropout(vector, self.config.dropout_pooled, self.training)
        scores: torch.Tensor = self.scores(vector)
        return scores


def _nats(scores: torch.Tensor, batch: ExampleBatch, *, mean: bool = False) -> torch.Tensor:
    unseen = scores.shape[1]  # the number of a label unseen in training
    reduction = "mean" if mean else "sum"
    if batch.weights is None:
        return cross_entropy(scores, batch.targets, reduction=reduction, ignore_index=unseen)
    each = cross_entropy(scores, batch.targets, reduction="none", ignore_index=unseen)
    total = (each * batch.weights).sum()
    return total / len(batch) if mean else total


def _sum(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    return functools.reduce(torch.add, parts)
