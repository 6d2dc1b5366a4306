"""Detect divergence: NaN, infinity, or results worse than a uniform guess.

Takes a model and tensors, gives the problem. The trainer and the loop raise it; the loop returns to
a good checkpoint and lowers the learning rate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

_UNTRAINED = 0.1  # nats: an untrained network may be this much worse than uniform
_FAR_WORSE = math.log(10)  # nats: ten times the perplexity of a uniform guess


class Diverged(Exception):
    """A loss, a gradient or a weight is NaN or infinite; the step was not applied, or not saved."""


class WorseThanUniform(Diverged):
    """Every validation was worse than a uniform distribution over the words."""


def not_finite(tensors: Mapping[str, torch.Tensor]) -> str | None:
    """The name of the first tensor that holds NaN or infinity; None: all are finite."""
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            return name
    return None


def refuse_worse_than_uniform(
    model: Any, learned: float, nats: float, best: float, *, finished: bool
) -> bool:
    """Whether some validation was better than a uniform guess; raises if training failed.

    It failed if it ends without such a validation, or if the last validation is far worse and none
    was better; in both cases only if the nats per token on the training text, `learned`, are worse
    too. If the training text is learned while validation is bad, the two texts differ: that is not
    a divergence. Models with another criterion than nats, like errors, are not checked.
    """
    size = getattr(model, "vocabulary_size", 0)
    if not size or hasattr(model, "judge"):
        return True
    uniform = math.log(size)
    if best <= uniform + _UNTRAINED:
        return True
    if learned > uniform and (finished or nats > uniform + _FAR_WORSE):
        raise WorseThanUniform(
            f"validation perplexity {_written(best)} at best, but a uniform guess has {size:,}"
        )
    return False


def _written(nats: float) -> str:
    return f"{math.exp(nats):.4g}" if nats < 700 else "above 1e304"
