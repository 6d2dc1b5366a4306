"""Dot product: e_ij = q_i · v_j (Luong et al. 2015). Without weights, both sizes must be equal."""

from __future__ import annotations

import torch

from elman.errors import InputError
from elman.layers.attentions.attention import Attention


class DotAttention(Attention):
    """How alike two vectors are."""

    about = "the dot product of the two vectors, which must have the same size (Luong et al. 2015)"

    def __init__(self, query_size: int, key_size: int, *, coverage: bool) -> None:
        super().__init__(query_size, key_size, coverage=coverage)
        if query_size != key_size:
            raise InputError(
                "model.attention: a dot product compares vectors of the same size, but the encoder "
                f"gives {key_size} numbers per word and the decoder has {query_size}; set "
                "model.bidirectional=false with one hidden_size for all layers, or choose "
                "model.attention=bilinear, which learns a matrix between the two"
            )

    def scores(
        self, queries: torch.Tensor, keys: torch.Tensor, covered: torch.Tensor | None = None
    ) -> torch.Tensor:
        return torch.bmm(queries, keys.transpose(1, 2))
