"""A weighted mean whose weights are learned (Yang et al. 2016).

u_t = tanh(W h_t + b),   a = softmax(v · u_t),   Σ_t a_t h_t
"""

from __future__ import annotations

import torch
from torch import nn

from elman.layers.padding import real_tokens
from elman.layers.poolings.pooling import Pooling


class AttentionPooling(Pooling):
    """Words count as much as a small network says."""

    about = "a mean with learned weights (Yang et al. 2016)"

    def __init__(self, size: int, directions: int) -> None:
        super().__init__(size, directions)
        self.key = nn.Linear(size, size)
        self.query = nn.Parameter(torch.empty(size).uniform_(-0.1, 0.1))

    def forward(self, outputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return (self.weights(outputs, lengths) * outputs).sum(1)

    def weights(self, outputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """How much each word counts, (B, T, 1); one per row altogether."""
        scores = torch.tanh(self.key(outputs)) @ self.query
        return (
            scores.unsqueeze(2)
            .where(real_tokens(outputs, lengths).unsqueeze(2), -torch.inf)
            .softmax(1)
        )
