"""The interface of training regimes: a regime decides which history the model reads.

Takes a model and a batch, gives the loss of one step; called by the trainer in every step. A regime
with its own weights gives them to the snapshot of the trainer and restores them from it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import torch

from elman.batches import Batch
from elman.state import State

OPTIONS = "training.regime_options"  # as messages name the section


class Loss(Protocol):
    """Sums and counts of one step."""

    @property
    def nats(self) -> torch.Tensor: ...
    @property
    def tokens(self) -> int: ...
    @property
    def penalty(self) -> torch.Tensor | float: ...


class Reader(Protocol):
    """The parts of a model that a regime uses; teacher forcing needs only its loss."""

    eos_id: int
    resets_at_lines: bool

    def loss(self, batch: Batch, carried: State | None) -> tuple[Loss, State]: ...
    def begin(self, batch_size: int, source: Any = None) -> State: ...
    def hidden_vectors(self, ids: Any, carried: State, lengths: Any = None) -> torch.Tensor: ...
    def advance(self, ids: torch.Tensor, carried: State) -> tuple[Any, State]: ...
    def predict(self, state: State) -> torch.Tensor: ...
    def read(self, ids: torch.Tensor, state: State) -> State: ...
    def score(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]: ...


@dataclass(kw_only=True)
class NoOptions:
    """No options."""


@dataclass(frozen=True)
class StepLoss:
    """The loss of a step with the addition of a regime."""

    nats: torch.Tensor
    tokens: int
    penalty: torch.Tensor | float


class Regime(ABC):
    """Base class of regimes; the options are the fields of `options_class`."""

    about: ClassVar[str]
    options_class: ClassVar[type] = NoOptions

    def __init__(self, options: Any, model: Any) -> None:
        self.options = options

    @abstractmethod
    def loss(
        self, model: Any, batch: Batch, carried: State | None, progress: float
    ) -> tuple[Loss, State]:
        """The loss of a batch and the state to carry on; `progress` goes from 0 to 1."""

    def tensors(self) -> dict[str, torch.Tensor]:
        """Its weights and state, by name."""
        return {}

    def restore(self, tensors: dict[str, torch.Tensor]) -> None:  # noqa: B027  # most have no state
        """Restore the state from `tensors`."""


def begun(model: Reader, batch: Batch, carried: State | None) -> State:
    """The state before a batch: the carried one, or the initial one."""
    return model.begin(len(batch.inputs), batch.source) if carried is None else carried


class TeacherForcing(Regime):
    """Teacher forcing: the history is always the true text (Williams and Zipser 1989).

        L = -Σ_t log p(y_t | y_1 … y_(t-1))

    The maximum-likelihood objective in one fused pass, and the baseline for all other regimes.
    """

    about = "the model reads the true text (the default)"

    def loss(
        self, model: Any, batch: Batch, carried: State | None, progress: float
    ) -> tuple[Loss, State]:
        return model.loss(batch, carried)
