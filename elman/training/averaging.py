"""Averages of the weights over the steps: a second set of weights, never put in place of the first.

    none       there is none
    nt-asgd    the mean of all weights since validation stopped improving (Merity et al. 2018)
    ema        an exponentially forgetting mean from the first step on

Validation and the saved model use the averages once there are any; training goes on with its own
weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from elman.training.settings import TrainingConfig

AVERAGES = {
    "none": "no averages",
    "nt-asgd": "the mean of all steps since validation stopped improving (Merity et al. 2018)",
    "ema": "an exponentially forgetting mean from the first step on",
}


class Averages:
    """The mean of the weights, if it is kept."""

    def __init__(self, config: TrainingConfig, weights: dict[str, torch.Tensor]) -> None:
        self._kind = config.average
        self._decay = config.average_decay
        self._trigger = config.trigger
        self._validations: list[float] = []
        self.steps = 0  # in the mean
        self.weights: dict[str, torch.Tensor] | None = None
        if self._kind == "ema":
            self._begin(weights)

    def _begin(self, weights: dict[str, torch.Tensor]) -> None:
        self.weights = {name: weight.detach().clone() for name, weight in weights.items()}

    def observe(self, nats: float, weights: dict[str, torch.Tensor]) -> None:
        """Take note of a validation; averaging begins when the last few brought nothing."""
        earlier = self._validations[: -self._trigger] if self._trigger else self._validations
        waited = bool(earlier) and nats > min(earlier)
        if self._kind == "nt-asgd" and self.weights is None and waited:
            self._begin(weights)
        self._validations.append(nats)

    def update(self, weights: dict[str, torch.Tensor]) -> None:
        """Take in the weights after a step."""
        if self.weights is None:
            return
        self.steps += 1
        share = 1 / self.steps
        if self._kind == "ema":  # at first a plain mean, so that the first weights are forgotten
            share = max(share, 1 - self._decay)
        current = [weights[name].detach() for name in self.weights]
        torch._foreach_lerp_(list(self.weights.values()), current, share)

    def to_data(self) -> dict[str, Any]:
        """What it remembers beside the tensors."""
        return {"steps": self.steps, "validations": self._validations}

    def restore(self, data: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        """Remember what `to_data` and `weights` gave."""
        self.steps = data["steps"]
        self._validations = list(data["validations"])
        self.weights = {name: tensor.clone() for name, tensor in tensors.items()} or None
