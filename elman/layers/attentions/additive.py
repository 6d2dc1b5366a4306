"""Additive: e_ij = v · tanh(Q q_i + K v_j + b) (Bahdanau et al. 2015); K v_j + b is computed once.

With coverage, e_ij = v · tanh(Q q_i + K v_j + b + w g_j), where g_j is how much was looked at place
j before (See et al. 2017).
"""

from __future__ import annotations

import torch
from torch import nn

from elman.layers.attentions.attention import Attention


class AdditiveAttention(Attention):
    """A small network looks at both vectors."""

    about = "a network with one layer over the two vectors (Bahdanau et al. 2015)"
    can_cover = True

    def __init__(
        self, query_size: int, key_size: int, *, coverage: bool, attention_size: int = 0
    ) -> None:
        """`attention_size`: units of the small network; 0: as many as the decoder has."""
        super().__init__(query_size, key_size, coverage=coverage)
        size = attention_size or query_size
        self.query = nn.Linear(query_size, size, bias=False)
        self.key = nn.Linear(key_size, size)
        self.score = nn.Linear(size, 1, bias=False)
        self.cover = nn.Linear(1, size, bias=False) if coverage else None

    def prepare(self, values: torch.Tensor) -> torch.Tensor:
        keys: torch.Tensor = self.key(values)
        return keys

    def scores(
        self, queries: torch.Tensor, keys: torch.Tensor, covered: torch.Tensor | None = None
    ) -> torch.Tensor:
        sums = self.query(queries).unsqueeze(2) + keys.unsqueeze(1)  # (B, T, S, size)
        if self.cover is not None and covered is not None:
            sums = sums + self.cover(covered.unsqueeze(2)).unsqueeze(1)
        scores: torch.Tensor = self.score(sums.tanh_() if not sums.requires_grad else sums.tanh())
        return scores.squeeze(3)
