"""Scheduled sampling: a coin per word decides whether the history has the true word or the model's.

    L = -Σ_t log p(y_t | x_1 … x_(t-1)),   x_t = y_t with probability ε, else drawn by the model

ε falls over the training. With x from 0 to 1 for how far it is, and `final` as its last value,

    linear            ε(x) = initial - (initial - final) x
    exponential       ε(x) = final^x                          (the paper's k^i)
    inverse-sigmoid   ε(x) = k / (k + (k (1 - final) / final)^x)      (k / (k + exp(i / k)))

Bengio, Vinyals, Jaitly and Shazeer (2015): Scheduled sampling for sequence prediction with
recurrent neural networks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from elman.batches import Batch
from elman.config import check_types
from elman.errors import InputError, choose
from elman.state import State
from elman.training.limits import require_least, require_part
from elman.training.regimes.own_words import loss_on_own_words, toss
from elman.training.regimes.regime import OPTIONS, Loss, Regime


@dataclass(kw_only=True)
class ScheduledSamplingOptions:
    """How the probability of the true word falls."""

    schedule: str = "linear"  # linear, exponential or inverse-sigmoid
    initial: float = 1.0  # linear: the probability at the beginning
    final: float = 0.5  # the probability at the end
    steepness: float = 50.0  # inverse-sigmoid: k; the larger, the longer it stays high

    def __post_init__(self) -> None:
        check_types(self)
        choose(SCHEDULES, self.schedule, f"{OPTIONS}.schedule")
        require_part(self, OPTIONS, "initial", "final")
        require_least(self, OPTIONS, steepness=1.0)
        if self.schedule != "linear" and self.final == 0:
            raise InputError(
                f"{OPTIONS}.final=0: a schedule that is {self.schedule} never gets "
                "there; give a number above 0, or schedule=linear"
            )


class ScheduledSampling(Regime):
    """A coin per word."""

    about = "a coin per word: true or the model's own, ever more of the latter (Bengio et al. 2015)"
    options_class = ScheduledSamplingOptions
    options: ScheduledSamplingOptions

    def loss(
        self, model: Any, batch: Batch, carried: State | None, progress: float
    ) -> tuple[Loss, State]:
        own = toss(1 - self.probability(progress), batch.inputs)
        return loss_on_own_words(model, batch, carried, own)

    def probability(self, progress: float) -> float:
        """ε: how likely a word of the history is the true one."""
        return SCHEDULES[self.options.schedule](self.options, progress)


def _linear(options: ScheduledSamplingOptions, progress: float) -> float:
    return options.initial - (options.initial - options.final) * progress


def _exponential(options: ScheduledSamplingOptions, progress: float) -> float:
    return options.final**progress


def _inverse_sigmoid(options: ScheduledSamplingOptions, progress: float) -> float:
    k = options.steepness
    return k / (k + (k * (1 - options.final) / options.final) ** progress)


SCHEDULES: dict[str, Callable[[ScheduledSamplingOptions, float], float]] = {
    "linear": _linear,
    "exponential": _exponential,
    "inverse-sigmoid": _inverse_sigmoid,
}
