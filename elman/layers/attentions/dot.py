"""Dot product: e_ij = q_i · k_j (Luong et al. 2015), which asks for two vectors of one size.

Where they differ in size, k_j = W v_j brings the source to that of the decoder.
"""

from __future__ import annotations

import torch
from torch import nn

from elman.layers.attentions.attention import Attention


class DotAttention(Attention):
    """How alike two vectors are."""

    about = "the dot product of the two vectors (Luong et al. 2015)"

    def __init__(self, query_size: int, key_size: int, *, coverage: bool) -> None:
        super().__init__(query_size, key_size, coverage=coverage)
        same = query_size == key_size
        self.key = None if same else nn.Linear(key_size, query_size, bias=False)

    def prepare(self, values: torch.Tensor) -> torch.Tensor:
        return values if self.key is None else self.key(values)

    def scores(
        self, queries: torch.Tensor, keys: torch.Tensor, covered: torch.Tensor | None = None
    ) -> torch.Tensor:
        return torch.bmm(queries, keys.transpose(1, 2))
