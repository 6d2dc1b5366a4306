"""When a training has diverged: numbers that are NaN or infinite, or worse than knowing nothing.

Takes a model and tensors, says what is wrong with them. Raised by the trainer and the loop, which
goes back to a good checkpoint and lowers the rate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

_UNTRAINED = 0.1  # nats: a network that has learned nothing may be this much worse than uniform
_FAR_WORSE = math.log(10)  # nats: ten times the perplexity of a uniform guess


class Diverged(Exception):
    """A loss, a gradient or a weight is NaN or infinite; the step was not applied, or not saved."""


class WorseThanUniform(Diverged):
    """No validation was as good as giving every word the same probability."""


def not_finite(tensors: Mapping[str, torch.Tensor]) -> str | None:
    """The name of the first tensor that holds NaN or infinity; None: all are finite."""
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            return name
    return None


def refuse_worse_than_uniform(
    model: Any, learned: float, nats: float, best: float, *, finished: bool
) -> bool:
    """Whether some validation was better than a uniform guess; raises if the training is lost.

    It is lost if it ends without one, or if the last validation is far worse and none was better;
    and if the nats per token on the training text, `learned`, are worse as well. A training text
    that is learned, while validation is bad, is unlike the validation text: that is no divergence.
    Models that are judged by something else than nats, like errors, are not looked at.
    """
    size = getattr(model, "vocabulary_size", 0)
    if not size or hasattr(model, "judge"):
        return True
    uniform = math.log(size)
    if best <= uniform + _UNTRAINED:
        return True
    if learned > uniform and (finished or nats > uniform + _FAR_WORSE):
        raise WorseThanUniform(
            f"validation perplexity {_written(best)} at best, but guessing all words alike has "
            f"{size:,}"
        )
    return False


def _written(nats: float) -> str:
    return f"{math.exp(nats):.4g}" if nats < 700 else "above 1e304"
