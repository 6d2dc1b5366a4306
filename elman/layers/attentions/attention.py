"""What every attention is: scores of the places of a source, and the weights that they come to.

    e_ij = score(q_i, k_j),   α_ij = softmax_j(e_ij),   c_i = Σ_j α_ij v_j

`prepare` makes keys k of the encoded source v once, `scores` compares them with queries q, the
states of the decoder. Padding gets a weight of exactly zero.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import nn


class Attention(nn.Module, ABC):
    """Scores of all places of a source."""

    about: ClassVar[str]
    looks: ClassVar[bool] = True  # whether there is anything to look at
    can_cover: ClassVar[bool] = False  # whether what was looked at before can be an input

    def __init__(self, query_size: int, key_size: int, *, coverage: bool) -> None:
        """Sizes of decoder states and encoded sources; with `coverage` it sees where it was."""
        super().__init__()

    def prepare(self, values: torch.Tensor) -> torch.Tensor:
        """Keys (B, S, …) of an encoded source (B, S, key_size), made once."""
        return values

    @abstractmethod
    def scores(
        self, queries: torch.Tensor, keys: torch.Tensor, covered: torch.Tensor | None = None
    ) -> torch.Tensor:
        """(B, T, S) from queries (B, T, query_size) and keys; `covered` (B, S): weights so far."""

    def forward(
        self,
        queries: torch.Tensor,
        keys: torch.Tensor,
        real: torch.Tensor,
        covered: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Weights (B, T, S) that sum to one over the places that are `real`, (B, S)."""
        scores = self.scores(queries, keys, covered)
        return scores.masked_fill(~real.unsqueeze(1), -torch.inf).softmax(2)
