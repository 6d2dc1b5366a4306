"""What one training step sees, and what hands it out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from elman.batches.sources import Source


@dataclass(frozen=True)
class Batch:
    """Inputs and the token that follows each of them, (B, T)."""

    inputs: torch.Tensor
    targets: torch.Tensor
    lengths: torch.Tensor | None = None  # (B,) tokens of each row; None: all rows are full
    rate_factor: float = 1.0  # of the learning rate: short windows take short steps
    learned: torch.Tensor | None = None  # (B, T) targets that are learned; None: all
    source: Source | None = None  # what the rows are said of, where they translate something

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def tokens(self) -> int:
        """Targets, padding not counted."""
        return self.inputs.numel() if self.lengths is None else int(self.lengths.sum())

    def to(self, device: torch.device) -> Batch:
        """The same on a device."""
        return self._changed(lambda part: part.to(device))

    def rows(self, rows: slice) -> Batch:
        """Some of its rows."""
        return self._changed(
            lambda part: part.rows(rows) if isinstance(part, Source) else part[rows]
        )

    def _changed(self, change: Callable[[Any], Any]) -> Batch:
        """With the same done to every tensor, and to the source."""
        changed: dict[str, Any] = {
            name: change(value)
            for name, value in vars(self).items()
            if isinstance(value, torch.Tensor | Source)
        }
        return replace(self, **changed)


class Batches(ABC):
    """Hands out the batches of one epoch after another, and can say exactly where it is."""

    carries_state: bool  # whether a batch goes on where the one before it ended
    tokens_per_epoch: int

    @property
    def learned_per_epoch(self) -> int:
        """Tokens that are learned; all of them, unless some are only read."""
        return self.tokens_per_epoch

    @property
    def steps_per_epoch(self) -> int | None:
        """How many batches an epoch has; None where that is left to chance."""
        return None

    @abstractmethod
    def next(self) -> Batch | None:
        """The next batch; None at the end of an epoch, after which the next one begins."""

    @abstractmethod
    def position(self) -> dict[str, Any]:
        """Where it is, as plain data."""

    @abstractmethod
    def go_to(self, position: dict[str, Any]) -> None:
        """Go to where `position` was taken."""
