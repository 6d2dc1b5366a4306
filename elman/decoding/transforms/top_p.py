"""Top-p or nucleus sampling: Holtzman et al. (2020), section 3.1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from elman.decoding.probabilities import ROUNDING, normalise
from elman.decoding.transforms.transform import Transform

if TYPE_CHECKING:
    import torch


def top_p(log_probs: torch.Tensor, p: float) -> torch.Tensor:
    """Only the smallest set of likeliest tokens whose probabilities sum to p or more.

    (B, V) -> (B, V). Of equally likely tokens the smaller ids come first; one token always stays.
    """
    log_probs = normalise(log_probs)
    if p >= 1:  # a sum that rounds to one too early must not cut off the tail
        return log_probs
    ranked, ids = log_probs.sort(dim=-1, descending=True, stable=True)
    probs = ranked.exp()
    likelier = probs.cumsum(dim=-1) - probs  # (B, V) mass of everything ranked before
    dropped = likelier >= p * (1 - ROUNDING)
    dropped[..., 0] = False
    dropped = dropped.new_zeros(dropped.shape).scatter(-1, ids, dropped)  # in the order of ids
    return normalise(log_probs.masked_fill(dropped, -math.inf))


TOP_P = Transform(
    option="top_p",
    about="draw among the fewest tokens that together have probability p (nucleus)",
    apply=top_p,
    allows=lambda p: 0 < p <= 1,
    allowed="a number above 0 and up to 1",
    least=0,
    most=1,
)
