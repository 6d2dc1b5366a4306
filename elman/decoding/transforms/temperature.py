"""Temperature: Ackley, Hinton and Sejnowski (1985), equation 4."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from elman.decoding.probabilities import normalise
from elman.decoding.transforms.transform import Transform

if TYPE_CHECKING:
    import torch


def temperature(log_probs: torch.Tensor, tau: float) -> torch.Tensor:
    """softmax(log P / tau): below 1 sharpens, above 1 flattens, near 0 only the likeliest is left.

    (B, V) -> (B, V)
    """
    log_probs = normalise(log_probs)
    gap = log_probs - log_probs.amax(dim=-1, keepdim=True)
    # The ends stay as they are: 0 / 0 and inf / inf, when tau leaves float32's range, are NaN.
    between = (gap < 0) & (gap > -math.inf)
    return normalise((gap / tau).where(between, gap))


TEMPERATURE = Transform(
    option="temperature",
    about="draw from softmax(log P / tau): below 1 safer, above 1 bolder, 0 greedy",
    apply=temperature,
    allows=lambda tau: 0 <= tau < math.inf,
    allowed="0 (greedy), 1 (as the model says) or more",
    least=0,
    off=1.0,
)
