"""Learning-rate schedules: a factor from the progress of the training and its validations.

constant     no change
decay        constant for `hold` epochs, then divided by `decay` after every epoch (Zaremba)
plateau      divided by `decay` whenever validation does not improve
halving      constant until validation gains less than 0.3 %, then divided by `decay` after
             every epoch; the training ends at the next such gain (Mikolov)
linear       constant for the fraction `hold` of the training, then linear decay to zero
cosine       half a cosine from one to zero
one-cycle    up from 1/25 in the first 30 %, then down to nearly zero, in cosines (Smith)
slanted      up from 1/32 in the first 10 %, then down to 1/32, in straight lines (Howard)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from elman.registry import Registry

if TYPE_CHECKING:
    from elman.training.settings import TrainingConfig

_LEAST_GAIN = 0.003  # of the validation entropy, relative (Mikolov)


class Schedule(ABC):
    """Base class; all state of a schedule is in its settings and the few numbers it saves."""

    about: ClassVar[str]

    def __init__(self, config: TrainingConfig) -> None:
        self.config = config
        self.finished = False  # whether the schedule ends the training

    @abstractmethod
    def factor(self, epoch: float) -> float:
        """The factor of the learning rate after so many epochs (1.5: halfway in the second)."""

    def observe(self, nats: float) -> None:  # noqa: B027  # most ignore it
        """Record a validation, nats per token."""

    def warmed_factor(self, epoch: float) -> float:
        """The factor, rising from zero during warm-up."""
        done = epoch / self.config.epochs
        warm = min(1.0, done / self.config.warm_up) if self.config.warm_up else 1.0
        return warm * self.factor(epoch)

    def to_data(self) -> dict[str, Any]:
        """The state as plain data."""
        return {name: value for name, value in vars(self).items() if name != "config"}

    def restore(self, data: dict[str, Any]) -> None:
        """Restore the state from `to_data`."""
        vars(self).update(data)


class Constant(Schedule):
    """No change."""

    about = "the same learning rate throughout"

    def factor(self, epoch: float) -> float:
        return 1.0


class Decay(Schedule):
    """Zaremba et al. (2014)."""

    about = "constant for `hold` epochs, then divided by `decay` after every epoch"

    def factor(self, epoch: float) -> float:
        # The first division comes after the first whole epoch.
        return self.config.decay ** -max(0.0, math.floor(epoch) + 1 - max(self.config.hold, 1))


class Plateau(Schedule):
    """Lower the rate when validation does not improve."""

    about = "divided by `decay` when validation does not improve"

    def __init__(self, config: TrainingConfig) -> None:
        super().__init__(config)
        self.current = 1.0
        self.best: float | None = None
        self.waited = 0

    def factor(self, epoch: float) -> float:
        return self.current

    def observe(self, nats: float) -> None:
        if self.best is None or nats < self.best:
            self.best, self.waited = nats, 0
            return
        self.waited += 1
        if self.waited > self.config.schedule_patience:
            self.current, self.waited = self.current / self.config.decay, 0


class Halving(Schedule):
    """Mikolov's rule."""

    about = "constant until validation gains little, then divided by `decay` every epoch"

    def __init__(self, config: TrainingConfig) -> None:
        super().__init__(config)
        self.current = 1.0
        self.last: float | None = None
        self.falling = False

    def factor(self, epoch: float) -> float:
        return self.current

    def observe(self, nats: float) -> None:
        gained = self.last is None or nats < self.last * (1 - _LEAST_GAIN)
        self.last = nats if self.last is None else min(nats, self.last)
        if self.falling and not gained:
            self.finished = True
        self.falling = self.falling or not gained
        if self.falling:
            self.current /= self.config.decay


class Linear(Schedule):
    """Linear decay to zero."""

    about = "constant for the fraction `hold` of the training, then linear decay to zero"

    def factor(self, epoch: float) -> float:
        done, hold = epoch / self.config.epochs, self.config.hold
        return 1.0 if done < hold or hold == 1 else max(0.0, (1 - done) / (1 - hold))


class Cosine(Schedule):
    """Cosine decay (Loshchilov and Hutter 2017)."""

    about = "cosine decay to zero"

    def factor(self, epoch: float) -> float:
        return _half_cosine(min(epoch / self.config.epochs, 1.0))


class OneCycle(Schedule):
    """One-cycle policy: up, then down (Smith 2018)."""

    about = "warm-up over the first 30 %, then cosine decay to nearly zero"

    def factor(self, epoch: float) -> float:
        done = min(epoch / self.config.epochs, 1.0)
        if done < 0.3:
            return 1 - (1 - 1 / 25) * _half_cosine(done / 0.3)
        return max(_half_cosine((done - 0.3) / 0.7), 1e-4)


class Slanted(Schedule):
    """Slanted triangular learning rates (Howard and Ruder 2018), with the values of the paper."""

    about = "a linear rise over the first 10 %, then linear decay to 1/32"

    def factor(self, epoch: float) -> float:
        done, rise, lowest = min(epoch / self.config.epochs, 1.0), 0.1, 1 / 32
        height = done / rise if done < rise else (1 - done) / (1 - rise)
        return lowest + (1 - lowest) * height


def _half_cosine(done: float) -> float:
    """From one to zero."""
    return (1 + math.cos(math.pi * done)) / 2


SCHEDULES = Registry(
    "schedule",
    {
        "constant": Constant,
        "decay": Decay,
        "plateau": Plateau,
        "halving": Halving,
        "linear": Linear,
        "cosine": Cosine,
        "one-cycle": OneCycle,
        "slanted": Slanted,
    },
    group="schedules",
)
