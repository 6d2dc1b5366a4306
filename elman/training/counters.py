"""What a training counts: numbers of one step, sums since the last record, and how far it is.

The trainer counts, the loop reads; a run folder keeps them in `training.json` under these names.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True)
class Step:
    """What one step of training showed."""

    nats: float
    tokens: int  # that were learned
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
        """Take in a step."""
        self.nats += step.nats
        self.tokens += step.tokens
        self.steps += 1
        self.clipped += step.clipped
        self.norms += step.gradient_norm
        self.largest_norm = max(self.largest_norm, step.gradient_norm)
        self.learning_rate = step.learning_rate


@dataclass
class Counters:
    """How far a training is, and how it went."""

    step: int = 0  # steps taken
    epoch: int = 0  # whole ones that are done
    tokens_in_epoch: int = 0  # read of the current one
    rate_factor: float = 1.0  # of every learning rate; lowered after a divergence
    best_nats: float = math.inf  # per token, of the best validation
    best_step: int = 0  # after which it was
    waited: int = 0  # validations since the best
    validations: int = 0
    validated_step: int = -1  # after which the last validation was
    meter: Meter = field(default_factory=Meter)

    @staticmethod
    def from_data(data: dict[str, Any]) -> Counters:
        """What `dataclasses.asdict` gave, whatever else is beside it."""
        own = {each.name: data[each.name] for each in fields(Counters)}
        return Counters(**{**own, "meter": Meter(**own["meter"])})
