"""How a model is trained: everything that can be chosen.

The section `training` of a recipe, checked; the trainer and its parts read it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from operator import le
from typing import Any

from elman.config import check_types
from elman.errors import InputError, choose
from elman.training.averaging import AVERAGES
from elman.training.optimizers import OPTIMIZERS
from elman.training.regimes import check_options
from elman.training.schedules import SCHEDULES

_POSITIVE = ("epochs", "batch_size", "window", "learning_rate", "validate_every")
_NOT_NEGATIVE = (
    "clip",
    "window_jitter",
    "dampening",
    "weight_decay",
    "epsilon",
    "accumulator",
    "hold",
    "min_steps",
    "min_batches",
    "schedule_patience",
    "trigger",
    "unfreeze",
    "patience",
    "save_minutes",
)


@dataclass(kw_only=True)
class TrainingConfig:
    """The settings of the training loop."""

    epochs: float = 10.0  # times through the text; the last may be a part
    min_steps: int = 0  # raise the epochs until the training has so many steps; 0: never
    batch_size: int = 20  # rows side by side
    min_batches: int = 0  # lower the batch size until an epoch has so many batches; 0: never
    window: int = 35  # tokens of a window, as far as gradients go back
    window_jitter: float = 0.0  # standard deviation of random window lengths; 0: all alike
    loss_per: str = "token"  # token: mean over all; row: summed over time, mean over rows (Zaremba)
    learn_after: str = ""  # only what follows this token in its line is learned; "": everything
    regime: str = "teacher-forcing"  # elman list regimes
    regime_options: dict[str, Any] = field(default_factory=dict)  # like final = 0.5
    clip: float = 0.25  # largest norm of the gradient; 0: none
    optimizer: str = "sgd"  # elman list optimizers
    learning_rate: float = 20.0
    momentum: float = 0.0  # sgd, rmsprop
    dampening: float = 0.0  # sgd
    nesterov: bool = False  # sgd
    weight_decay: float = 0.0
    beta1: float = 0.9  # adam, adamw: memory of the gradient
    beta2: float = 0.999  # adam, adamw, rmsprop: memory of its square
    epsilon: float = 1e-8  # adam, adamw, rmsprop, adagrad
    accumulator: float = 0.0  # adagrad: where the sum of squares starts
    schedule: str = "constant"  # elman list schedules
    hold: float = 0.0  # decay: epochs before it; linear: part of the training before it
    decay: float = 2.0  # decay, plateau, halving: what the rate is divided by
    schedule_patience: int = 0  # plateau: validations without a gain that are forgiven
    warm_up: float = 0.0  # part of the training in which the rate rises from zero (all schedules)
    unfreeze: float = 0.0  # epochs until the next group of weights learns, from the top; 0: all do
    rate_decay: float = 1.0  # what the rate is divided by for each group below (Howard: 2.6)
    average: str = "none"  # elman list averages
    trigger: int = 5  # nt-asgd: validations without a gain before averaging begins
    average_decay: float = 0.999  # ema: how much is kept at each step
    patience: int = 0  # early stopping: validations without a gain; 0: never
    validate_every: float = 1.0  # epochs
    save_minutes: float = 1.0  # between checkpoints

    def __post_init__(self) -> None:
        check_types(self)
        self.regime_options = check_options(self.regime, self.regime_options)
        OPTIMIZERS.check(self.optimizer)
        SCHEDULES.check(self.schedule)
        AVERAGES.check(self.average)
        choose(dict.fromkeys(("token", "row")), self.loss_per, "training.loss_per")
        require(self, "training", _POSITIVE, lambda value: value > 0, "must be above 0")
        require(self, "training", _NOT_NEGATIVE, lambda value: value >= 0, "must not be negative")
        require_part(self, "training", "momentum", "average_decay", "warm_up")
        betas = ("beta1", "beta2")
        require(self, "training", betas, lambda value: 0 <= value < 1, "must be from 0 to below 1")
        if self.schedule == "linear" and self.hold > 1:
            raise InputError(
                f"training.hold={self.hold}: is a part of the training, so must be from 0 to 1"
            )
        if not self.decay > 1:
            raise InputError(f"training.decay={self.decay}: divides the rate, so must be above 1")
        if self.rate_decay < 1:
            raise InputError(
                f"training.rate_decay={self.rate_decay}: divides the rate, so must be at least 1"
            )
        if self.nesterov and (self.momentum == 0 or self.dampening != 0):
            raise InputError("training.nesterov=true: needs a momentum and no dampening")


def require(
    settings: Any,
    section: str,
    names: Iterable[str],
    allowed: Callable[[Any], bool],
    problem: str,
) -> None:
    """An InputError that names the first of these settings whose value is not allowed."""
    for name in names:
        value = getattr(settings, name)
        if not allowed(value):  # as no comparison with NaN is
            raise InputError(f"{section}.{name}={value}: {problem}")


def require_part(settings: Any, section: str, *names: str) -> None:
    """An InputError unless these settings are parts of a whole, from 0 to 1."""
    require(settings, section, names, lambda value: 0 <= value <= 1, "must be from 0 to 1")


def require_least(settings: Any, section: str, **least: float) -> None:
    """An InputError unless each of these settings is at least so much."""
    for name, bound in least.items():
        require(settings, section, [name], partial(le, bound), f"must be at least {bound:g}")
