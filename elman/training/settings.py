"""The hyperparameters of training.

This is the section `training` of a recipe, with its checks; the trainer and its parts read it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from operator import le
from typing import Any

from elman.config import check_types, convert
from elman.errors import InputError, choose
from elman.training.averaging import AVERAGES
from elman.training.optimizers import OPTIMIZERS
from elman.training.regimes import check_options
from elman.training.schedules import SCHEDULES
from elman.training.word_counts import parse_word_counts

BALANCED = "balanced"  # class weights so that every label counts alike
_POSITIVE = ("epochs", "batch_size", "window", "learning_rate", "validate_every")
_NOT_NEGATIVE = (
    "clip",
    "window_jitter",
    "window_start",
    "batch_start",
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

    epochs: float = 10.0  # passes over the text; the last may be a fraction
    min_steps: int = 0  # with little data, add epochs up to this number of steps; 0: never
    batch_size: int = 20  # rows of a minibatch
    min_batches: int = 0  # with little data, use smaller batches for this many per epoch; 0: never
    window: int = 35  # tokens of a window: the length of truncated back-propagation
    window_jitter: float = 0.0  # standard deviation of random window lengths; 0: all alike
    window_start: int = 0  # windows grow from this length to `window`; 0: no growth
    batch_start: int = 0  # batches grow from this size to `batch_size`, by epochs; 0: no growth
    partial_shuffle: bool = False  # cut each column of a stream at a random place in every epoch
    loss_per: str = "token"  # token: mean over all; row: summed over time, mean over rows (Zaremba)
    class_weights: str | dict[str, Any] = ""  # classifier: balanced, or a table {label = 2.0}
    learn_after: str = ""  # train only on tokens after this one in a line; "": on all tokens
    regime: str = "teacher-forcing"  # elman list regimes
    regime_options: dict[str, Any] = field(default_factory=dict)  # like final = 0.5
    clip: float = 0.25  # largest norm of the gradient; 0: no clipping
    optimizer: str = "sgd"  # elman list optimizers
    learning_rate: float = 20.0
    momentum: float = 0.0  # sgd, rmsprop
    dampening: float = 0.0  # sgd
    nesterov: bool = False  # sgd
    weight_decay: float = 0.0
    weight_decay_end: float | None = None  # weight decay changes linearly to this; None: no change
    beta1: float = 0.9  # adam, adamw: decay of the mean gradient
    beta2: float = 0.999  # adam, adamw, rmsprop: decay of the mean squared gradient
    epsilon: float = 1e-8  # adam, adamw, rmsprop, adagrad
    accumulator: float = 0.0  # adagrad: initial value of the sum of squares
    schedule: str = "constant"  # elman list schedules
    hold: float = 0.0  # before the rate falls; decay: epochs; linear: fraction of the training
    decay: float = 2.0  # decay, plateau, halving: divisor of the rate
    schedule_patience: int = 0  # plateau: validations without a gain that are tolerated
    warm_up: float = 0.0  # fraction of the training in which the rate rises from zero
    unfreeze: float = 0.0  # epochs until the next group is trained, from the top; 0: all at once
    rate_decay: float = 1.0  # divisor of the rate for each group below (Howard: 2.6)
    average: str = "none"  # elman list averages
    trigger: int = 5  # nt-asgd: validations without a gain before averaging begins
    average_decay: float = 0.999  # ema: decay per step
    patience: int = 0  # early stopping: validations without a gain; 0: no early stopping
    validate_every: float = 1.0  # epochs
    save_minutes: float = 1.0  # minutes between checkpoints
    checkpoints_at_words: str = ""  # also save runs after so many words: 1M,2M,5M, or babylm

    def __post_init__(self) -> None:
        check_types(self)
        self.regime_options = check_options(self.regime, self.regime_options)
        OPTIMIZERS.check(self.optimizer)
        SCHEDULES.check(self.schedule)
        AVERAGES.check(self.average)
        choose(dict.fromkeys(("token", "row")), self.loss_per, "training.loss_per")
        self.class_weights = _check_class_weights(self.class_weights)
        parse_word_counts(self.checkpoints_at_words)
        require(self, "training", _POSITIVE, lambda value: value > 0, "must be above 0")
        require(self, "training", _NOT_NEGATIVE, lambda value: value >= 0, "must not be negative")
        require_part(self, "training", "momentum", "average_decay", "warm_up")
        betas = ("beta1", "beta2")
        require(self, "training", betas, lambda value: 0 <= value < 1, "must be from 0 to below 1")
        if self.schedule == "linear" and self.hold > 1:
            raise InputError(
                f"training.hold={self.hold}: is a fraction of the training, so must be from 0 to 1"
            )
        if not self.decay > 1:
            raise InputError(
                f"training.decay={self.decay}: divides the rate, so it must be above 1"
            )
        if self.rate_decay < 1:
            raise InputError(
                f"training.rate_decay={self.rate_decay}: divides the rate, so it must be at least 1"
            )
        if self.weight_decay_end is not None and not 0 <= self.weight_decay_end < math.inf:
            raise InputError(
                f"training.weight_decay_end={self.weight_decay_end}: must not be negative"
            )
        if self.nesterov and (self.momentum == 0 or self.dampening != 0):
            raise InputError("training.nesterov=true: needs momentum above 0 and dampening=0")


def _check_class_weights(given: str | dict[str, Any]) -> str | dict[str, float]:
    if isinstance(given, str):
        if given not in ("", BALANCED):
            raise InputError(
                f"training.class_weights={given}: must be {BALANCED}, or a table {{label = 2.0}}"
            )
        return given
    weights = {
        str(label): convert(weight, float, f"training.class_weights.{label}")
        for label, weight in given.items()
    }
    for label, weight in weights.items():
        if not 0 < weight < math.inf:
            raise InputError(f"training.class_weights.{label}={weight}: must be above 0")
    return weights


def require(
    settings: Any,
    section: str,
    names: Iterable[str],
    allowed: Callable[[Any], bool],
    problem: str,
) -> None:
    """Raise an InputError for the first of these settings whose value is not allowed."""
    for name in names:
        value = getattr(settings, name)
        if not allowed(value):  # NaN is never allowed, as its comparisons are false
            raise InputError(f"{section}.{name}={value}: {problem}")


def require_part(settings: Any, section: str, *names: str) -> None:
    """Raise an InputError unless these settings are fractions, from 0 to 1."""
    require(settings, section, names, lambda value: 0 <= value <= 1, "must be from 0 to 1")


def require_least(settings: Any, section: str, **least: float) -> None:
    """Raise an InputError unless each of these settings has at least its smallest value."""
    for name, bound in least.items():
        require(settings, section, [name], partial(le, bound), f"must be at least {bound:g}")
