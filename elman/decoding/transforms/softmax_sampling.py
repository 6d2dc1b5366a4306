"""Softmax sampling, as some lectures have it: a softmax of the probabilities themselves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from elman.decoding.probabilities import normalise
from elman.decoding.transforms.transform import Transform

if TYPE_CHECKING:
    import torch


def softmax_sampling(log_probs: torch.Tensor, alpha: float) -> torch.Tensor:
    """SM_alpha(P) = softmax(alpha * P), taken of the probabilities and not of their logarithms.

    (B, V) -> (B, V). Temperature raises P to a power, so tau = 1 gives P back and ratios can
    become as large as you like. Here two tokens differ by a factor of at most exp(alpha), and no
    alpha gives P back: alpha = 0 is uniform, alpha = 1 still nearly so. Tokens of probability
    zero, which the bare formula would bring back with weight exp(0), stay out.
    """
    log_probs = normalise(log_probs)
    probs = log_probs.exp()
    gap = probs - probs.amax(dim=-1, keepdim=True)
    weights = (alpha * gap).where(gap < 0, gap)
    return normalise(weights.masked_fill(log_probs.isneginf(), -math.inf))


SOFTMAX_SAMPLING = Transform(
    option="softmax_alpha",
    about="draw from softmax(alpha * P), of the probabilities themselves: not a temperature",
    apply=softmax_sampling,
    allows=lambda alpha: 0 <= alpha < math.inf,
    allowed="0 or more",
    least=0,
    excludes="temperature",
)
