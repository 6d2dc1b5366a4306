"""The base classes of output layers: from hidden vectors to a distribution over the vocabulary.

In training and evaluation, a model calls in this order:

    gather      hidden vectors (B, T, size) and the ids they come after → evidence, (B, T, …) each
    loss        evidence and target ids, one row each → the training loss, a sum of nats
    score       evidence and target ids, one row each → exact log probabilities of the targets
    score_and_mass   the same, with the log probability of a set of words
    log_probs   evidence, one row each → exact log probabilities of the whole vocabulary

Evidence is everything that predicts the next word: the hidden vector, and additions of outputs that
look back, for example at recent words. Such an output has a memory, which is part of the state of
the model. An output that trains on a sample of the vocabulary still scores with all of it. With
tied weights, every call receives the table of word vectors; otherwise the layer has its own matrix.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import torch
from torch import nn

from elman.cells.eight_bits import Linear
from elman.cells.products import can_pack
from elman.cells.stepping import Frozen, Way, linear
from elman.errors import InputError
from elman.layers.softmax import chunks, softmax_loss, softmax_scores, softmax_scores_and_masses
from elman.matrix_products import LinearLayer, add_product
from elman.state import State

Evidence = tuple[torch.Tensor, ...]  # the first one is the hidden vector
Table = torch.Tensor | None
_ROWS_OF_A_STEP = 64  # more rows are a whole text, which uses float32 weights


class Output(nn.Module, ABC):
    """A distribution over the vocabulary."""

    about: ClassVar[str]
    can_be_tied: ClassVar[bool] = True
    preparing_operations: float = 0.0  # before the first step of a training

    def __init__(self, size: int, counts: torch.Tensor, *, embedding_size: int, tied: bool) -> None:
        """`size`: of hidden vectors; `counts` (V,): of the words in the training text."""
        super().__init__()
        if tied and not self.can_be_tied:
            raise InputError(
                "model.tied=true: this output cannot share word vectors; set model.tied=false"
            )
        self.vocabulary_size = len(counts)
        self.size = embedding_size if tied else size  # size of a row of its matrix

    def count_text(self, ids: np.ndarray, eos_id: int) -> None:  # most do not
        """Learn from the ids of the training text before the training; once, in a new model."""

    def make_room(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Prepare for arrays of these shapes, whose sizes depend on the training text."""

    def follow(self, progress: float) -> bool:
        """Follow the progress of a training, from 0 to 1; whether that changes its operations."""
        return False

    def begin(self, batch_size: int) -> State:
        """The initial memory; most outputs have none."""
        return next(self.parameters()).new_zeros(batch_size, 0)

    def gather(
        self, hidden: torch.Tensor, ids: torch.Tensor, memory: State
    ) -> tuple[Evidence, State]:
        """The evidence after each of the ids, and the memory after all of them."""
        return (hidden,), memory

    def attention(self, evidence: Evidence) -> torch.Tensor | None:
        """The attention of each step to each recent word, oldest first, and last to none of them,
        (B, T, words + 1); None: this output has no attention.
        """
        return None

    def loss(self, evidence: Evidence, targets: torch.Tensor, table: Table) -> torch.Tensor:
        """The training loss, a sum of nats: the targets, or a cheaper approximation."""
        return -self.score(evidence, targets, table).sum()

    @abstractmethod
    def score(self, evidence: Evidence, targets: torch.Tensor, table: Table) -> torch.Tensor:
        """Log probability of each target, (N,)."""

    def score_and_mass(
        self, evidence: Evidence, targets: torch.Tensor, members: torch.Tensor, table: Table
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Log probability of each target and of the set of words `members` (V,), (N,) each."""
        scores, masses = [], []
        for rows in chunks(len(targets), self.vocabulary_size, evidence[0]):
            log_probs = self.log_probs(tuple(part[rows] for part in evidence), table)
            scores.append(log_probs.gather(1, targets[rows, None])[:, 0])
            masses.append(log_probs[:, members].logsumexp(1))
        return torch.cat(scores), torch.cat(masses)

    @abstractmethod
    def log_probs(self, evidence: Evidence, table: Table) -> torch.Tensor:
        """Log probabilities of the whole vocabulary, (N, V)."""

    def scores(self, evidence: Evidence, table: Table) -> torch.Tensor:
        """Log probabilities up to a constant per row, (N, V)."""
        return self.log_probs(evidence, table)

    def prepare_steps(self, way: Way, table: Table) -> None:
        """Compute single steps in this way until the weights change; most outputs cannot."""

    @property
    def steps_alike(self) -> bool:
        """Whether a row of a step, prepared as `alike`, has the same bits in every batch."""
        return False

    @property
    def is_plain(self) -> bool:
        """Whether the scores are one product with the hidden vector; then `product` gives it."""
        return False

    def product(self, table: Table) -> Linear:
        """The product that `prepare_steps` has prepared, if the output is plain."""
        raise NotImplementedError("this output is more than one product")

    @abstractmethod
    def multiplications(self, step_tokens: int) -> float:
        """Multiply-adds per token of a training step with this many tokens, forward only."""

    def all_multiplications(self) -> float:
        """Multiply-adds per token for the whole vocabulary."""
        return self.multiplications(0)


class SoftmaxOutput(Output):
    """Outputs with a row and a bias per word: p(w | h) ∝ exp(W_w · h + b_w).

    With tied weights and hidden vectors of another size, a matrix projects to the right size.
    """

    least: float = 0.0  # of a probability for which scores have gradients: see `softmax_scores`

    def __init__(self, size: int, counts: torch.Tensor, *, embedding_size: int, tied: bool) -> None:
        super().__init__(size, counts, embedding_size=embedding_size, tied=tied)
        self.project = self.make_bridge(size) if size != self.size else None
        self.weight = None if tied else nn.Parameter(torch.empty(self.vocabulary_size, self.size))
        # Start from the word frequencies, the best guess before training.
        self.bias = nn.Parameter(log_frequencies(counts))
        if self.weight is not None:
            nn.init.uniform_(self.weight, -0.1, 0.1)
        self._product: Frozen[Linear] | None = None
        self._way: Way = "one"

    def prepare_steps(self, way: Way, table: Table) -> None:
        weights = self.matrix(table), self.bias
        if self._product is None or self._way != way or not self._product.fits(*weights):
            self._product, self._way = Frozen(linear(*weights, way), *weights), way

    def product(self, table: Table) -> Linear:
        """The prepared product."""
        found = None if self._product is None else self._product.of(self.matrix(table), self.bias)
        assert found is not None, "prepare_steps comes first"
        return found

    @property
    def steps_alike(self) -> bool:
        return self.is_plain and can_pack(self.bias)

    @property
    def is_plain(self) -> bool:
        gathers = type(self).gather is SoftmaxOutput.gather and self.project is None
        return gathers and self._is_one_product

    @property
    def _is_one_product(self) -> bool:
        """Whether the distribution is a softmax of one product: no subclass replaces it."""
        return type(self).log_probs is SoftmaxOutput.log_probs

    def make_bridge(self, size: int) -> LinearLayer | None:
        """The projection of hidden vectors to the size of word vectors."""
        return LinearLayer(size, self.size)

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
        hidden, matrix = evidence[0], self.matrix(table)
        return softmax_scores(hidden, matrix, self.bias, targets, least=self.least)

    def score_and_mass(
        self, evidence: Evidence, targets: torch.Tensor, members: torch.Tensor, table: Table
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if not self._is_one_product:
            return super().score_and_mass(evidence, targets, members, table)
        matrix = self.matrix(table)
        return softmax_scores_and_masses(evidence[0], matrix, self.bias, targets, members)

    def log_probs(self, evidence: Evidence, table: Table) -> torch.Tensor:
        return self._multiply(evidence[0], self.matrix(table)).log_softmax(1)

    def scores(self, evidence: Evidence, table: Table) -> torch.Tensor:
        if not self._is_one_product:
            return self.log_probs(evidence, table)
        return self._multiply(evidence[0], self.matrix(table))

    def _multiply(self, hidden: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
        if self._product is not None and len(hidden) <= _ROWS_OF_A_STEP:
            product = self._product.of(matrix, self.bias)
            if product is not None:
                return product(hidden)
        return add_product(self.bias, hidden, matrix.t())

    def rows_per_token(self, step_tokens: int) -> float:
        """The mean number of matrix rows per token in training."""
        return self.vocabulary_size

    def multiplications(self, step_tokens: int) -> float:
        return self.rows_per_token(step_tokens) * self.size + self._bridge_size()

    def all_multiplications(self) -> float:
        return self.vocabulary_size * self.size + self._bridge_size()

    def _bridge_size(self) -> int:
        return 0 if self.project is None else self.project.weight.numel()

    def matrix(self, table: Table) -> torch.Tensor:
        """The weights, one row per word: of this layer, or the tied word vectors."""
        weight = table if self.weight is None else self.weight
        assert weight is not None, "an output with tied weights needs the word vectors"
        return weight


def log_frequencies(counts: torch.Tensor) -> torch.Tensor:
    """Log frequencies of words from their counts plus one, so that none is zero."""
    return ((counts + 1) / (counts + 1).sum()).log().float()
