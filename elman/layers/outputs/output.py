"""What every output layer is: from hidden vectors to a distribution over the vocabulary.

In training and evaluation a model calls, in this order,

    gather      hidden vectors (B, T, size) and the ids they come after → evidence, (B, T, …) each
    loss        evidence and target ids, a row each → the sum of nats to learn from
    score       evidence and target ids, a row each → exact log probabilities of the targets
    log_probs   evidence, a row each → exact log probabilities of the whole vocabulary

Evidence is all that the next word is predicted from: the hidden vector, and what an output that
looks back (at the last words, say) adds to it. Such an output has a memory, which the model's state
carries along. An output that learns from a part of the vocabulary still scores with all of it. With
tied weights the table of word vectors is handed in at every call; else the layer has a matrix of
its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import nn

from elman.cells.stepping import Frozen, Linear, linear
from elman.errors import InputError
from elman.layers.softmax import softmax_loss, softmax_scores
from elman.state import State

Evidence = tuple[torch.Tensor, ...]  # the first one is the hidden vector
Table = torch.Tensor | None
_ROWS_OF_A_STEP = 64  # more than this are a whole text, which float32 weights predict


class Output(nn.Module, ABC):
    """A distribution over the vocabulary."""

    about: ClassVar[str]
    can_be_tied: ClassVar[bool] = True

    def __init__(self, size: int, counts: torch.Tensor, *, embedding_size: int, tied: bool) -> None:
        """Hidden vectors have this size; `counts` (V,) of the words in the training text."""
        super().__init__()
        if tied and not self.can_be_tied:
            raise InputError(
                "model.tied=true: this output has weights of another kind; set model.tied=false"
            )
        self.vocabulary_size = len(counts)
        self.size = embedding_size if tied else size  # of a row of its matrix

    def begin(self, batch_size: int) -> State:
        """The memory before anything was read; most outputs have none."""
        return next(self.parameters()).new_zeros(batch_size, 0)

    def gather(
        self, hidden: torch.Tensor, ids: torch.Tensor, memory: State
    ) -> tuple[Evidence, State]:
        """The evidence after each of the ids, and the memory after all of them."""
        return (hidden,), memory

    def attention(self, evidence: Evidence) -> torch.Tensor | None:
        """How much each step attends to each of the last words, the oldest first, and then to none
        of them, (B, T, words + 1); None: this output does not attend.
        """
        return None

    def loss(self, evidence: Evidence, targets: torch.Tensor, table: Table) -> torch.Tensor:
        """The sum of nats to learn from: those of the targets, unless there is a cheaper way."""
        return -self.score(evidence, targets, table).sum()

    @abstractmethod
    def score(self, evidence: Evidence, targets: torch.Tensor, table: Table) -> torch.Tensor:
        """Log probability of each target, (N,)."""

    @abstractmethod
    def log_probs(self, evidence: Evidence, table: Table) -> torch.Tensor:
        """Log probabilities of the whole vocabulary, (N, V)."""

    @abstractmethod
    def multiplications(self, step_tokens: int) -> float:
        """Multiply-adds per token of a training step with so many tokens, forward only."""

    def all_multiplications(self) -> float:
        """Multiply-adds per token where all words are looked at."""
        return self.multiplications(0)


class SoftmaxOutput(Output):
    """Outputs with a row and a bias per word: p(w | h) ∝ exp(W_w · h + b_w).

    With tied weights and hidden vectors of another size, a matrix leads from one size to the other.
    """

    def __init__(self, size: int, counts: torch.Tensor, *, embedding_size: int, tied: bool) -> None:
        super().__init__(size, counts, embedding_size=embedding_size, tied=tied)
        self.project = self.make_bridge(size) if size != self.size else None
        self.weight = None if tied else nn.Parameter(torch.empty(self.vocabulary_size, self.size))
        # How frequent each word is: all that can be known before anything was learned.
        self.bias = nn.Parameter(log_frequencies(counts))
        if self.weight is not None:
            nn.init.uniform_(self.weight, -0.1, 0.1)
        self._product: Frozen[Linear] | None = None

    def step_in_eight_bits(self, table: Table) -> None:
        """From now on, and until the weights change, steps multiply by eight-bit weights."""
        weights = self.matrix(table), self.bias
        self._product = Frozen(linear(*weights, int8=True), *weights)

    def make_bridge(self, size: int) -> nn.Linear | None:
        """What leads from hidden vectors to the size of word vectors."""
        return nn.Linear(size, self.size)

    def gather(
        self, hidden: torch.Tensor, ids: torch.Tensor, memory: State
    ) -> tuple[Evidence, State]:
        return (hidden if self.project is None else self.project(hidden),), memory

    def loss(self, evidence: Evidence, targets: torch.Tensor, table: Table) -> torch.Tensor:
        if self.training:
            return self.learn(evidence[0], targets, self.matrix(table))
        return softmax_loss(evidence[0], self.matrix(table), self.bias, targets)

    def learn(
        self, hidden: torch.Tensor, targets: torch.Tensor, matrix: torch.Tensor
    ) -> torch.Tensor:
        """The sum of nats in training; `matrix` (V, size) has a row per word."""
        return softmax_loss(hidden, matrix, self.bias, targets)

    def score(self, evidence: Evidence, targets: torch.Tensor, table: Table) -> torch.Tensor:
        return softmax_scores(evidence[0], self.matrix(table), self.bias, targets)

    def log_probs(self, evidence: Evidence, table: Table) -> torch.Tensor:
        hidden, matrix = evidence[0], self.matrix(table)
        if self._product is not None and len(hidden) <= _ROWS_OF_A_STEP:
            product = self._product.of(matrix, self.bias)
            if product is not None:
                return product(hidden).log_softmax(1)
        return torch.addmm(self.bias, hidden, matrix.t()).log_softmax(1)

    def rows_per_token(self, step_tokens: int) -> float:
        """How many rows of the matrix a token is multiplied with in training, on average."""
        return self.vocabulary_size

    def multiplications(self, step_tokens: int) -> float:
        return self.rows_per_token(step_tokens) * self.size + self._bridge_size()

    def all_multiplications(self) -> float:
        return self.vocabulary_size * self.size + self._bridge_size()

    def _bridge_size(self) -> int:
        return 0 if self.project is None else self.project.weight.numel()

    def matrix(self, table: Table) -> torch.Tensor:
        """A row per word: the layer's own, or those of the word vectors."""
        weight = table if self.weight is None else self.weight
        assert weight is not None, "tied weights must be handed in"
        return weight


def log_frequencies(counts: torch.Tensor) -> torch.Tensor:
    """Of words with these counts; each is counted once more, so that none has never been seen."""
    return ((counts + 1) / (counts + 1).sum()).log().float()
