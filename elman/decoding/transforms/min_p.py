"""Min-p sampling: Nguyen et al. (2024), section 3."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from elman.decoding.probabilities import ROUNDING, normalise
from elman.decoding.transforms.transform import Transform

if TYPE_CHECKING:
    import torch


def min_p(log_probs: torch.Tensor, fraction: float) -> torch.Tensor:
    """Only tokens at least `fraction` times as likely as the likeliest one.

    (B, V) -> (B, V)
    """
    log_probs = normalise(log_probs)
    relative = (log_probs - log_probs.amax(dim=-1, keepdim=True)).exp()
    return normalise(log_probs.masked_fill(relative < fraction * (1 - ROUNDING), -math.inf))


MIN_P = Transform(
    option="min_p",
    about="draw among tokens at least this many times as likely as the likeliest",
    apply=min_p,
    allows=lambda fraction: 0 <= fraction <= 1,
    allowed="a number from 0 to 1",
    least=0,
    most=1,
)
