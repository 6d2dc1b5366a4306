"""Output layers: from a hidden vector to a distribution over the vocabulary.

Takes hidden vectors (N, size) and target ids (N,), gives a loss to learn from and exact, normalised
log probabilities. An output layer that learns from a part of the vocabulary still scores with all
of it. With tied weights the table of word vectors is handed in at every call; else the layer has a
matrix of its own.

    full       every word, every time
    sampled    the most frequent words, those of the window and a few at random
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import nn

from elman.errors import InputError
from elman.layers.softmax import softmax_loss, softmax_scores


class Output(nn.Module, ABC):
    """A softmax over the vocabulary: p(w | h) ∝ exp(W_w · h + b_w)."""

    about: ClassVar[str]

    def __init__(self, size: int, counts: torch.Tensor, *, tied: bool, samples: int) -> None:
        super().__init__()
        self.vocabulary_size = len(counts)
        self.weight = None if tied else nn.Parameter(torch.empty(self.vocabulary_size, size))
        # How frequent each word is: all that can be known before anything was learned.
        self.bias = nn.Parameter(((counts + 1) / (counts + 1).sum()).log().float())
        if self.weight is not None:
            nn.init.uniform_(self.weight, -0.1, 0.1)

    @abstractmethod
    def loss(
        self, hidden: torch.Tensor, targets: torch.Tensor, table: torch.Tensor | None
    ) -> torch.Tensor:
        """The sum of nats to learn from."""

    def score(
        self, hidden: torch.Tensor, targets: torch.Tensor, table: torch.Tensor | None
    ) -> torch.Tensor:
        """Log probability of each target, (N,)."""
        return softmax_scores(hidden, self._matrix(table), self.bias, targets)

    def log_probs(self, hidden: torch.Tensor, table: torch.Tensor | None) -> torch.Tensor:
        """Log probabilities of the whole vocabulary, (N, V)."""
        return torch.addmm(self.bias, hidden, self._matrix(table).t()).log_softmax(1)

    def rows_per_token(self, step_tokens: int) -> float:
        """How many rows of the matrix a token is multiplied with in training, on average.

        step_tokens: how many tokens a training step has.
        """
        return self.vocabulary_size

    def _matrix(self, table: torch.Tensor | None) -> torch.Tensor:
        weight = table if self.weight is None else self.weight
        assert weight is not None, "tied weights must be handed in"
        return weight


class FullSoftmax(Output):
    """Every word, every time."""

    about = "all words, exact"

    def loss(
        self, hidden: torch.Tensor, targets: torch.Tensor, table: torch.Tensor | None
    ) -> torch.Tensor:
        return softmax_loss(hidden, self._matrix(table), self.bias, targets)


class SampledSoftmax(Output):
    """The normaliser estimated from part of the vocabulary (after Bengio and Senécal 2003).

    Half of `samples` are the most frequent words, always there; the others are drawn evenly from
    the rest. The words of the window itself are there too, since they are targets. A word that is
    there with probability π stands for 1/π words of its kind, so log 1/π is added to its logit and
    the normaliser is right on average. A vocabulary that is smaller than that is used whole.
    """

    about = "frequent words, words of the window, and a random few; exact when it is evaluated"

    def __init__(self, size: int, counts: torch.Tensor, *, tied: bool, samples: int) -> None:
        super().__init__(size, counts, tied=tied, samples=samples)
        if samples < 2:
            raise InputError(f"samples={samples}: must be at least 2")
        self.samples = samples
        ranked = torch.argsort(counts, descending=True, stable=True)
        self.register_buffer("ranked", ranked)
        self.register_buffer("frequency", (counts / counts.sum().clamp(min=1)).float())
        self.ranked: torch.Tensor
        self.frequency: torch.Tensor

    def rows_per_token(self, step_tokens: int) -> float:
        if self.samples >= self.vocabulary_size:
            return self.vocabulary_size
        return float((1 - self._absent(step_tokens)).sum())

    def loss(
        self, hidden: torch.Tensor, targets: torch.Tensor, table: torch.Tensor | None
    ) -> torch.Tensor:
        if not self.training or self.samples >= self.vocabulary_size:
            return softmax_loss(hidden, self._matrix(table), self.bias, targets)
        always = self.samples // 2
        rest = self.ranked[always:]
        drawn = rest[torch.randperm(len(rest))[: self.samples - always]]
        there = torch.zeros_like(self.ranked, dtype=torch.bool)
        there[self.ranked[:always]] = True
        there[drawn] = True
        there[targets] = True
        words = there.nonzero().squeeze(1)
        places = torch.cumsum(there, 0) - 1  # id to its place among them
        return softmax_loss(
            hidden,
            self._matrix(table).index_select(0, words),
            self.bias[words],
            places[targets],
            self._log_weights(len(targets) - 1)[words],
        )

    def _log_weights(self, others: int) -> torch.Tensor:
        """log 1/π of every word, π being how likely it is there if it is not the row's target."""
        return -torch.log1p(-self._absent(others))

    def _absent(self, tokens: int) -> torch.Tensor:
        """How likely each word is not there, beside so many tokens of the window."""
        always = self.samples // 2
        missed = 1 - (self.samples - always) / (self.vocabulary_size - always)
        absent = missed * (1 - self.frequency).pow(tokens)
        absent[self.ranked[:always]] = 0
        return absent


OUTPUTS: dict[str, type[Output]] = {
    "full": FullSoftmax,
    "sampled": SampledSoftmax,
}
