"""Rows of log probabilities, (B, V): made to sum to one, refused when broken, ranked.

What the transforms, the penalties' results and beam search are built from. Torch is not imported:
a tensor brings its methods along, and `elman --help` reads the transforms' texts without it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from elman.errors import ElmanError

if TYPE_CHECKING:
    import torch

# A float32 model knows a probability to about seven digits. A token that lies exactly on the edge
# of a set must not fall on one side or the other because of the eighth.
ROUNDING = 1e-7


def refuse_broken(log_probs: torch.Tensor) -> None:
    """Raise when a model gives something that no distribution has: NaN, or plus infinity."""
    if not (log_probs < math.inf).all():
        raise ElmanError("the model gave a probability that is no finite number; retrain it")


def normalise(log_probs: torch.Tensor) -> torch.Tensor:
    """The same proportions, summing to one; refuses a row where nothing is possible. (B, V)"""
    refuse_impossible(log_probs)
    return log_probs.log_softmax(dim=-1)


def refuse_impossible(log_probs: torch.Tensor) -> None:
    """Raise when a row (B, V) is broken, or when nothing is possible in it."""
    refuse_broken(log_probs)
    if log_probs.isneginf().all(dim=-1).any():
        raise ElmanError(
            "no token can come next: all have probability zero, as after a context that a count "
            "model without smoothing has never seen; ban fewer tokens, or train it with a smoother"
        )


def largest(values: torch.Tensor, count: int) -> torch.Tensor:
    """True at the `count` largest values of each row, exactly; of equals, the first. (B, V)"""
    count = min(count, values.shape[-1])
    smallest_kept = values.topk(count, dim=-1).values[..., -1:]  # (B, 1)
    above = values > smallest_kept
    equal = values == smallest_kept
    room = count - above.sum(dim=-1, keepdim=True)
    return above | (equal & (equal.cumsum(dim=-1) <= room))


def likeliest(log_probs: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The `count` largest of each row and their ids, in the order of the ids; of equals, the first.

    (N, V) -> two of (N, count). As `largest`, without looking at every value twice.
    """
    size = log_probs.shape[-1]
    values, ids = log_probs.topk(min(count + 1, size), dim=-1)
    if count < size:
        tied = (values[:, count] == values[:, count - 1]) & ~values[:, count].isneginf()
        ids = ids[:, :count].contiguous()
        if tied.any():
            ids[tied] = largest(log_probs[tied], count).nonzero()[:, 1].view(-1, count)
    ids = ids.sort(dim=-1).values
    return log_probs.gather(-1, ids), ids
