"""Bilinear: e_ij = q_iᵀ W v_j (Luong et al. 2015, "general"); W v_j is computed once.

With `scaled`, e_ij is divided by √size, as in the scaled dot product. With coverage,
e_ij = q_iᵀ (W v_j + w g_j), where g_j is how much was looked at v_j before.
"""

from __future__ import annotations

import torch
from torch import nn

from elman.layers.attentions.attention import Attention


class BilinearAttention(Attention):
    """A matrix says which parts of the two vectors belong together."""

    about = "a matrix between the two vectors (Luong et al. 2015)"
    can_cover = True

    def __init__(
        self, query_size: int, key_size: int, *, coverage: bool, scaled: bool = False
    ) -> None:
        """`scaled`: divide the scores by the root of the decoder's size."""
        super().__init__(query_size, key_size, coverage=coverage)
        self.scale = query_size**0.5 if scaled else 1.0
        self.key = nn.Linear(key_size, query_size, bias=False)
        self.cover = nn.Linear(1, query_size, bias=False) if coverage else None

    def prepare(self, values: torch.Tensor) -> torch.Tensor:
        keys: torch.Tensor = self.key(values)
        return keys

    def scores(
        self, queries: torch.Tensor, keys: torch.Tensor, covered: torch.Tensor | None = None
    ) -> torch.Tensor:
        scores = torch.bmm(queries, keys.transpose(1, 2))
        if self.cover is not None and covered is not None:
            scores = scores + (queries @ self.cover.weight) * covered.unsqueeze(1)
        return scores / self.scale if self.scale != 1.0 else scores
