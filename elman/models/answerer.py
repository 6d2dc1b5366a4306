"""Extractive question answering: the reader of Chen et al. (2017).

    question ── word features ────────────────────── layers ── attention pooling ── q (B, size)
    passage  ── word features ── [; aligned question; is it in the question?] ── layers ── p_i
    P_start(i) = softmax_i(p_i W_s q),   P_end(i) = softmax_i(p_i W_e q)

Question and passage share the word vectors and have separate layers. A hidden vector is the
concatenation of the outputs of all layers. Unlike the paper, the model has no tags, entities and
word frequencies, which came from other programs. The loss is the nats of start and end; an error is
a span that is not exactly right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import nn

from elman.batches.featured import MatchedSentences
from elman.batches.sentences import ExampleBatch, Sentences
from elman.cells.engine import real_tokens
from elman.config import at_least
from elman.layers.dropout import dropout
from elman.layers.elmo import Contextual
from elman.layers.poolings import AttentionPooling
from elman.layers.stack import Stack, StackConfig
from elman.layers.word_features import FeatureConfig, WordFeatures
from elman.matrix_products import LinearLayer
from elman.models.contract import Loss
from elman.models.sentence_model import SentenceModel
from elman.text.task_config import SentenceConfig


class Alignment(nn.Module):
    """Align every word of one sentence with similar words of another (Lee et al. 2016).

        α(x) = ReLU(W x + b),   a_ij = softmax_j(α(p_i) · α(q_j)),   f(p_i) = Σ_j a_ij q_j

    A soft match: words need not be equal, so `car` can match `vehicle`. Called by the answerer.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.key = LinearLayer(size, size)

    def forward(
        self, passage: torch.Tensor, question: torch.Tensor, lengths: torch.Tensor
    ) -> torch.Tensor:
        """(B, P, size) from (B, P, size) and (B, Q, size); `lengths` (B,) are those of Q."""
        keys = torch.relu(self.key(passage)), torch.relu(self.key(question))
        scores = keys[0] @ keys[1].transpose(1, 2)  # (B, P, Q)
        real = real_tokens(question, lengths).unsqueeze(1)
        return scores.where(real, -torch.inf).softmax(2) @ question.where(real.mT, 0)


class SpanPointers(nn.Module):
    """The start and end of an answer: bilinear attention to the words of a passage.

        P_start(i) = softmax_i(p_i W_s q),   P_end(i) = softmax_i(p_i W_e q)      (Chen et al. 2017)

    Takes hidden vectors of a passage and the vector of a question, gives log probabilities;
    `best_spans` finds the most probable span. Called by the answerer.
    """

    def __init__(self, passage_size: int, question_size: int) -> None:
        super().__init__()
        self.start = LinearLayer(question_size, passage_size, bias=False)
        self.end = LinearLayer(question_size, passage_size, bias=False)

    def forward(
        self, passage: torch.Tensor, question: torch.Tensor, lengths: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Log probabilities (B, T) of start and end, from (B, T, size) and (B, size)."""
        real = real_tokens(passage, lengths)
        starts, ends = (
            (passage @ weights(question).unsqueeze(2)).squeeze(2).where(real, -torch.inf)
            for weights in (self.start, self.end)
        )
        return starts.log_softmax(1), ends.log_softmax(1)


class Spans(NamedTuple):
    """A span for every row: its first and last word, (B,) each, and its log probability."""

    firsts: torch.Tensor
    lasts: torch.Tensor
    log_probs: torch.Tensor


def best_spans(starts: torch.Tensor, ends: torch.Tensor, longest: int) -> Spans:
    """The most probable span, start ≤ end < start + longest, from log probabilities (B, T) of both.

    Ties go to the first span, then to the shortest.
    """
    widths = min(longest, starts.shape[1])
    moved = [
        nn.functional.pad(ends[:, width:], (0, width), value=-torch.inf) for width in range(widths)
    ]
    sums = starts.unsqueeze(2) + torch.stack(moved, dim=2)  # (B, T, widths)
    log_probs, places = sums.flatten(1).max(1)
    firsts = places // widths
    return Spans(firsts, firsts + places % widths, log_probs)


@dataclass(kw_only=True)
class AnswererConfig(FeatureConfig, StackConfig):
    """An answerer."""

    bidirectional: bool = True
    elmo: str = ""  # run folder of a bidirectional language model, whose layers are features
    contextual_norm: bool = False  # normalise these layers before they are mixed
    longest: int = 15  # maximum number of words of a predicted answer

    def __post_init__(self) -> None:
        StackConfig.__post_init__(self)
        FeatureConfig.check(self)
        at_least(self.longest, 1, "model.longest")


class Answerer(SentenceModel):
    """Find the answer to a question as a span of a passage."""

    about: ClassVar[str] = "answers a question with a span of a passage (Chen et al. 2017)"
    task: ClassVar[str] = "answering"
    text_class: ClassVar[type] = SentenceConfig
    config_class: ClassVar[type] = AnswererConfig
    unit: ClassVar[str] = "questions"

    def __init__(
        self, config: AnswererConfig, counts: torch.Tensor, language_model: Any = None
    ) -> None:
        """`language_model`: a trained `BidirectionalModel` whose layers are word features."""
        super().__init__()
        self.config = config
        self.contextual = None
        if language_model is not None:
            self.contextual = Contextual(language_model, layer_norm=config.contextual_norm)
        further = 0 if self.contextual is None else self.contextual.size
        self.features = WordFeatures(counts, config, contextual_size=further)
        size = self.features.size
        self.alignment = Alignment(size)
        self.question = Stack(size, config)
        self.passage = Stack(2 * size + 1, config)
        hidden = sum(layer.size for layer in self.question.layers)
        self.pooling = AttentionPooling(hidden, 1)
        self.pointers = SpanPointers(sum(layer.size for layer in self.passage.layers), hidden)

    def loss(self, batch: ExampleBatch, carried: Any = None) -> tuple[Loss, tuple[()]]:
        """Nats of the correct starts and ends."""
        right = batch.targets.mT  # (B, 2, 1)
        log_probs = torch.stack(self.score(*batch.inputs), dim=1)  # (B, 2, T)
        return Loss(-log_probs.gather(2, right).sum(), batch.tokens), ()

    def errors(self, batch: ExampleBatch) -> int:
        """The number of spans that are not exactly right."""
        best = self.best(*batch.inputs)
        firsts, lasts = batch.targets.squeeze(1).T
        return int(((best.firsts != firsts) | (best.lasts != lasts)).sum())

    @torch.no_grad()
    def best(self, question: Sentences, passage: Sentences) -> Spans:
        """The most probable spans."""
        return best_spans(*self.score(question, passage), self.config.longest)

    def score(self, question: Sentences, passage: Sentences) -> tuple[torch.Tensor, torch.Tensor]:
        """Log probabilities of start and end, (B, T) each."""
        assert isinstance(passage, MatchedSentences), "passages must mark the words of the question"
        asked, read = self._features(question), self._features(passage)
        aligned = self.alignment(read, asked, question.lengths)
        matched = passage.matched.unsqueeze(2).to(read.dtype)
        hidden = self._encode(self.question, asked, question.lengths)
        vector = self.pooling(hidden, question.lengths)
        read = torch.cat([read, aligned, matched], dim=2)
        hidden = self._encode(self.passage, read, passage.lengths)
        starts, ends = self.pointers(hidden, vector, passage.lengths)
        return starts, ends

    def _features(self, sentences: Sentences) -> torch.Tensor:
        (further,) = self.contextual(sentences) if self.contextual is not None else (None,)
        features = self.features(sentences, further)
        return dropout(features, self.config.dropout_features, self.training)

    def _encode(self, stack: Stack, inputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """The concatenated outputs of all layers, (B, T, sum of their sizes)."""
        hidden = torch.cat(stack(inputs, lengths=lengths).layers, dim=2)
        return stack.drop(hidden, self.config.dropout_output)
