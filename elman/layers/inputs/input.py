"""What every input layer is: from ids to vectors that a network can read.

Called by the models (`models/network.py`) with ids (B, T); gives vectors (B, T, size).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import nn


@dataclass(frozen=True)
class Material:
    """What a model is built from, beside its settings."""

    counts: torch.Tensor  # (V,): how often each token occurs in the training text
    eos_id: int
    tokens: Sequence[str] | None = None  # how each is spelled; None: it will be loaded
    ids: np.ndarray | None = None  # the training text; None: what is learned from it will be loaded

    @property
    def vocabulary_size(self) -> int:
        """How many tokens there are."""
        return len(self.counts)


class Input(nn.Module, ABC):
    """Vectors of ids."""

    about: ClassVar[str]
    size: int  # of the vectors

    def __init__(self, material: Material, *, embedding_size: int, dropout_words: float) -> None:
        """`dropout_words`: how many words of the vocabulary are hidden from a training step."""
        super().__init__()
        self.dropout_words = dropout_words

    @property
    def table(self) -> torch.Tensor | None:
        """A vector for each word, (V, embedding_size), if it has one that an output can share."""
        return None

    @abstractmethod
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """A vector for each id."""

    def multiplications(self, step_tokens: int) -> float:
        """Multiply-adds per token of a step with so many tokens, forward only."""
        return 0.0


def expected_distinct(counts: torch.Tensor, tokens: int) -> float:
    """How many different words so many tokens have, on average."""
    frequency = counts.double() / counts.sum().clamp(min=1)
    return float((1 - (1 - frequency).pow(tokens)).sum())
