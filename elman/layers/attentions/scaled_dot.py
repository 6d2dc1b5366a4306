"""Scaled dot product: e_ij = q_i · k_j / √size (Vaswani et al. 2017).

Sums of many products are large, and a softmax of large numbers hardly learns.
"""

from __future__ import annotations

import torch

from elman.layers.attentions.dot import DotAttention


class ScaledDotAttention(DotAttention):
    """How alike two vectors are, whatever their size."""

    about = "the dot product, divided by the root of its size (Vaswani et al. 2017)"

    def scores(
        self, queries: torch.Tensor, keys: torch.Tensor, covered: torch.Tensor | None = None
    ) -> torch.Tensor:
        return super().scores(queries, keys, covered) / queries.shape[2] ** 0.5
