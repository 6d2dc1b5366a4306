"""Weight averaging over the steps: a second set of weights, which never replaces the first.

    none       no averaging
    nt-asgd    the mean of all weights since validation stopped improving (Merity et al. 2018)
    ema        an exponential moving average from the first step on
    recent     the same, over at most the last tenth of the steps

Validation and the saved model use the averages once there are any; training continues with its own
weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import torch

from elman.data_checks import number, whole
from elman.registry import Registry
from elman.training.snapshot import Tensors, copied

if TYPE_CHECKING:
    from elman.training.settings import TrainingConfig


class Averages:
    """No averaging; also the base class, since all averages record the validations."""

    about: ClassVar[str] = "no averages"

    def __init__(self, config: TrainingConfig, weights: Tensors) -> None:
        self.config = config
        self._validations: list[float] = []
        self.steps = 0  # number of steps in the mean
        self.weights: Tensors | None = None  # the mean, once there is one

    def observe(self, nats: float, weights: Tensors) -> None:
        """Record a validation, nats per token."""
        self._validations.append(nats)

    def update(self, weights: Tensors) -> None:
        """Add the weights after a step."""
        if self.weights is None:
            return
        self.steps += 1
        current = [weights[name].detach() for name in self.weights]
        torch._foreach_lerp_(list(self.weights.values()), current, self._share())

    def _share(self) -> float:
        """The share of the latest step in the mean: by default the same for every step."""
        return 1 / self.steps

    def to_data(self) -> dict[str, Any]:
        """The state besides the tensors, as plain data."""
        return {"steps": self.steps, "validations": self._validations}

    def restore(self, data: dict[str, Any], tensors: Tensors) -> None:
        """Restore the state from `to_data` and `weights`."""
        self.steps = whole(data["steps"], "averages.steps")
        self._validations = [number(nats, "averages.validations") for nats in data["validations"]]
        self.weights = copied(tensors) or None


class TriggeredMean(Averages):
    """Non-monotonically triggered averaging of stochastic gradient descent."""

    about = "the mean of the weights since validation stopped improving (Merity et al. 2018)"

    def observe(self, nats: float, weights: Tensors) -> None:
        """Start averaging when the last few validations brought no gain."""
        trigger = self.config.trigger
        earlier = self._validations[:-trigger] if trigger else self._validations
        if self.weights is None and earlier and nats > min(earlier):
            self.weights = copied(weights)
        super().observe(nats, weights)


class ForgettingMean(Averages):
    """A plain mean at first, so that the initial weights are forgotten."""

    about = "an exponential moving average of the weights, from the first step on"

    def __init__(self, config: TrainingConfig, weights: Tensors) -> None:
        super().__init__(config, weights)
        self.weights = copied(weights)

    def _share(self) -> float:
        return max(super()._share(), 1 - self.config.average_decay)


class RecentMean(ForgettingMean):
    """A short mean at first: after few steps, most weights of a plain mean are too old."""

    about = "an exponential moving average over at most the last tenth of the steps"

    def _share(self) -> float:
        return max(9 / (9 + self.steps), 1 - self.config.average_decay)


AVERAGES = Registry(
    "average",
    {"none": Averages, "nt-asgd": TriggeredMean, "ema": ForgettingMean, "recent": RecentMean},
    group="averages",
)
