"""Counters of a training: numbers of one step, sums since the last record, and progress.

The trainer updates them, the loop reads them; a run folder stores them in `training.json` under
these names.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

# Checkpoints of older versions lack these.
LATER: dict[str, Any] = {"operations": 0.0, "validating_operations": 0.0}


@dataclass(frozen=True)
class Step:
    """The numbers of one training step."""

    nats: float
    tokens: int  # trained on
    read: int  # all tokens of the batch
    gradient_norm: float  # before clipping
    clipped: bool
    learning_rate: float


@dataclass
class Meter:
    """Sums over the steps since the last record of the history."""

    nats: float = 0.0
    tokens: int = 0
    steps: int = 0
    clipped: int = 0
    norms: float = 0.0
    largest_norm: float = 0.0
    learning_rate: float = 0.0  # of the last step

    def add(self, step: Step) -> None:
        """Add a step."""
        self.nats += step.nats
        self.tokens += step.tokens
        self.steps += 1
        self.clipped += step.clipped
        self.norms += step.gradient_norm
        self.largest_norm = max(self.largest_norm, step.gradient_norm)
        self.learning_rate = step.learning_rate


@dataclass
class Counters:
    """The progress of a training."""

    step: int = 0  # steps taken
    epoch: int = 0  # completed epochs
    tokens_in_epoch: int = 0  # tokens read in the current epoch
    rate_factor: float = 1.0  # multiplies every learning rate; lowered after a divergence
    best_nats: float = math.inf  # per token, of the best validation
    best_step: int = 0  # the step of the best validation
    waited: int = 0  # validations since the best
    validations: int = 0
    validated_step: int = -1  # the step of the last validation
    operations: float = 0.0  # of the matrix products of all steps, and of what came before them
    validating_operations: float = 0.0
    meter: Meter = field(default_factory=Meter)

    @staticmethod
    def from_data(data: dict[str, Any]) -> Counters:
        """Rebuild from the result of `dataclasses.asdict`; other keys are ignored."""
        data = LATER | data
        own = {each.name: data[each.name] for each in fields(Counters)}
        return Counters(**{**own, "meter": Meter(**own["meter"])})
