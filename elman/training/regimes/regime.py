"""What a training regime is: it decides which history the model learns to go on from.

Takes a model and a batch, gives the loss of one step; called by the trainer in every step. A regime
that has weights of its own gives them to the trainer's snapshot and takes them back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import torch

from elman.batches import Batch
from elman.errors import InputError
from elman.state import State

if TYPE_CHECKING:
    from elman.training.trainer import Loss


class Reader(Protocol):
    """What a regime knows of a model; teacher forcing needs no more than its loss."""

    eos_id: int
    resets_at_lines: bool

    def loss(self, batch: Batch, carried: State | None) -> tuple[Loss, State]: ...
    def begin(self, batch_size: int) -> State: ...
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


def check_part(options: Any, *names: str) -> None:
    """An InputError unless these options are parts of a whole, from 0 to 1."""
    for name in names:
        if not 0 <= getattr(options, name) <= 1:
            raise InputError(_refusal(options, name, "must be from 0 to 1"))


def check_least(options: Any, name: str, least: float) -> None:
    """An InputError unless the option is at least so much."""
    if not getattr(options, name) >= least:
        raise InputError(_refusal(options, name, f"must be at least {least:g}"))


def _refusal(options: Any, name: str, problem: str) -> str:
    return f"training.regime_options.{name}={getattr(options, name)}: {problem}"
