"""What a training regime is: it decides which history the model learns to go on from.

Takes a model and a batch, gives the loss of one step; called by the trainer in every step. A regime
that has weights of its own gives them to the trainer's snapshot and takes them back.
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
    """What a regime knows of a model; teacher forcing needs no more than its loss."""

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
    """Of a regime that has none."""


@dataclass(frozen=True)
class StepLoss:
    """The loss of a step to which a regime has added something."""

    nats: torch.Tensor
    tokens: int
    penalty: torch.Tensor | float


class Regime(ABC):
    """One way to train; its options are the fields of `options_class`."""

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
        """What it has learned and remembers, by name."""
        return {}

    def restore(self, tensors: dict[str, torch.Tensor]) -> None:  # noqa: B027  # most keep nothing
        """Take back what `tensors` gave."""


def begun(model: Reader, batch: Batch, carried: State | None) -> State:
    """The state before a batch: the one carried, or that of a fresh start."""
    return model.begin(len(batch.inputs), batch.source) if carried is None else carried


class TeacherForcing(Regime):
    """Teacher forcing: the history is always the true text (Williams and Zipser 1989).

        L = -Σ_t log p(y_t | y_1 … y_(t-1))

    The maximum-likelihood objective, one fused pass, and what all else is compared with.
    """

    about = "the model reads the true text (the default)"

    def loss(
        self, model: Any, batch: Batch, carried: State | None, progress: float
    ) -> tuple[Loss, State]:
        return model.loss(batch, carried)
