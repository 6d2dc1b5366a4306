"""Pooling: turn the word vectors of a sentence into one sentence vector."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import nn

from elman.cells.engine import real_tokens
from elman.matrix_products import LinearLayer
from elman.registry import Registry


class Pooling(nn.Module, ABC):
    """Pool outputs (B, T, size); only the first `lengths` (B,) of each row count."""

    about: ClassVar[str]

    def __init__(self, size: int, directions: int) -> None:
        """`directions`: 2 if the second half of each vector reads from right to left."""
        super().__init__()
        self.size = size
        self.directions = directions
        self.output_size = size

    @abstractmethod
    def forward(self, outputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """One vector per row, (B, output_size)."""


class LastState(Pooling):
    """The last state of each direction, after it has read the whole sentence."""

    about = "the last state (of both directions, concatenated)"

    def forward(self, outputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        rows = torch.arange(len(outputs), device=outputs.device)
        last = outputs[rows, lengths - 1]
        if self.directions == 1:
            return last
        half = self.size // 2
        return torch.cat([last[:, :half], outputs[:, 0, half:]], dim=1)


class Mean(Pooling):
    """The mean of the vectors of all words."""

    about = "the mean over all words"

    def forward(self, outputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return (
            outputs.where(real_tokens(outputs, lengths).unsqueeze(2), 0).sum(1) / lengths[:, None]
        )


class Maximum(Pooling):
    """The largest value of each unit over all words (Collobert and Weston 2008)."""

    about = "the element-wise maximum over all words"

    def forward(self, outputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return outputs.where(real_tokens(outputs, lengths).unsqueeze(2), -torch.inf).amax(1)


class AttentionPooling(Pooling):
    """A weighted mean whose weights are learned (Yang et al. 2016).

    u_t = tanh(W h_t + b),   a = softmax(v · u_t),   Σ_t a_t h_t
    """

    about = "a mean with learned weights (Yang et al. 2016)"

    def __init__(self, size: int, directions: int) -> None:
        super().__init__(size, directions)
        self.key = LinearLayer(size, size)
        self.query = nn.Parameter(torch.empty(size).uniform_(-0.1, 0.1))

    def forward(self, outputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return (self.weights(outputs, lengths) * outputs).sum(1)

    def weights(self, outputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """The weight of each word, (B, T, 1); weights sum to one per row."""
        scores = torch.tanh(self.key(outputs)) @ self.query
        return (
            scores.unsqueeze(2)
            .where(real_tokens(outputs, lengths).unsqueeze(2), -torch.inf)
            .softmax(1)
        )


class Concatenation(Pooling):
    """The last state, the maximum and the mean, concatenated (Howard and Ruder 2018)."""

    about = "the last state, the maximum and the mean, concatenated (Howard and Ruder 2018)"

    def __init__(self, size: int, directions: int) -> None:
        super().__init__(size, directions)
        self.parts = nn.ModuleList(kind(size, directions) for kind in (LastState, Maximum, Mean))
        self.output_size = size * len(self.parts)

    def forward(self, outputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return torch.cat([part(outputs, lengths) for part in self.parts], dim=1)


POOLINGS = Registry(
    "pooling",
    {
        "last": LastState,
        "mean": Mean,
        "max": Maximum,
        "attention": AttentionPooling,
        "concat": Concatenation,
    },
    group="poolings",
)
