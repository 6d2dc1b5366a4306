"""Top-k sampling: Fan, Lewis and Dauphin (2018), section 5.1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from elman.decoding.probabilities import largest, normalise
from elman.decoding.transforms.transform import Transform

if TYPE_CHECKING:
    import torch


def top_k(log_probs: torch.Tensor, k: int) -> torch.Tensor:
    """Only the k likeliest tokens; of equally likely ones, those with the smaller id.

    (B, V) -> (B, V)
    """
    return normalise(log_probs.masked_fill(~largest(log_probs, k), -math.inf))


TOP_K = Transform(
    option="top_k",
    about="draw among the k likeliest tokens",
    apply=top_k,
    allows=lambda k: k >= 1,
    allowed="1 or more",
    least=1,
    kind=int,
)
