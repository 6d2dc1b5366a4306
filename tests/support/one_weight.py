"""A model of one weight with predefined losses, and its training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from elman.batches import Batch, Batches
from elman.state import State
from elman.training.loop import Loop
from elman.training.progress import TrainingProgress
from elman.training.settings import TrainingConfig
from elman.training.snapshot import Snapshot
from elman.training.trainer import Trainer

TOKENS = 10  # of a batch


class Counted(Batches):
    """Batches that hold their number; those of a validation the same below zero."""

    carries_state = True

    def __init__(self, count: int, sign: int = 1) -> None:
        self._count = count
        self._sign = sign
        self._number = 0
        self.tokens_per_epoch = count * TOKENS

    def next(self) -> Batch | None:
        if self._number == self._count:
            self._number = 0
            return None
        self._number += 1
        ids = torch.full((2, TOKENS // 2), self._sign * self._number)
        return Batch(ids, ids)

    def position(self) -> dict[str, Any]:
        return {"number": self._number}

    def go_to(self, position: dict[str, Any]) -> None:
        self._number = position["number"]


class Loss:
    """As a model gives it."""

    def __init__(self, nats: torch.Tensor) -> None:
        self.nats, self.tokens, self.penalty = nats, TOKENS, 0.0


class OneWeight(nn.Module):
    """Every step moves the weight by minus the rate; `trouble` may change the loss of one."""

    def __init__(self, validations: list[float] | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))
        self.validations = list(validations or [])
        self.losses = 0  # that were asked for, retries included
        self.trouble: Callable[[int, torch.Tensor], torch.Tensor] = lambda number, nats: nats

    def loss(self, batch: Batch, carried: State | None) -> tuple[Loss, State]:
        number = int(batch.inputs[0, 0])
        if not self.training and number > 0:  # a batch that was learned, read again
            return Loss(self.weight.sum() * TOKENS), torch.zeros(2, 1)
        if not self.training:
            if number == -1:  # the first batch of a validation
                self.value = self.validations.pop(0)
            return Loss(torch.tensor(self.value * TOKENS)), torch.zeros(2, 1)
        self.losses += 1
        nats = self.trouble(self.losses, self.weight.sum() * TOKENS)
        return Loss(nats), torch.zeros(2, 1)


class Scene:
    """A training that remembers everything that happened."""

    def __init__(
        self, model: OneWeight, batches: int = 10, validated: bool = True, **settings: Any
    ) -> None:
        defaults: dict[str, Any] = {"epochs": 1, "learning_rate": 1.0, "clip": 0.0}
        config = TrainingConfig(**(defaults | settings))
        self.model = model
        self.trainer = Trainer(
            model, Counted(batches), config, Counted(2, -1) if validated else None
        )
        self.saved: list[Snapshot] = []
        self.records: list[dict[str, Any]] = []
        self.progress: list[TrainingProgress] = []
        self.loop = Loop(
            self.trainer,
            save=self.saved.append,
            record=self.records.append,
            progress=self.progress.append,
            after_step=self.after_step,
        )
        self.steps: list[int] = []
        self.actions: dict[int, Callable[[], Any]] = {}

    def after_step(self, trainer: Trainer) -> None:
        self.steps.append(trainer.counters.step)
        self.actions.get(trainer.counters.step, lambda: None)()

    def run(self) -> Scene:
        self.loop.run()
        return self

    def validated_at(self) -> list[int]:
        return [record["step"] for record in self.records if "valid_perplexity" in record]

    def saved_at(self) -> list[int]:
        return [snapshot.data["step"] for snapshot in self.saved]
