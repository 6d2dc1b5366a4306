"""The batch of one training step, and the interface of batch iterators."""

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
    learned: torch.Tensor | None = None  # (B, T) targets to train on; None: all
    source: Source | None = None  # the sources of the rows, for encoder–decoders

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def tokens(self) -> int:
        """The number of targets, without padding."""
        return self.inputs.numel() if self.lengths is None else int(self.lengths.sum())

    def to(self, device: torch.device) -> Batch:
        """The same batch on a device."""
        return self._changed(lambda part: part.to(device))

    def rows(self, rows: slice) -> Batch:
        """Some of its rows."""
        return self._changed(
            lambda part: part.rows(rows) if isinstance(part, Source) else part[rows]
        )

    def _changed(self, change: Callable[[Any], Any]) -> Batch:
        """Apply a function to every tensor, including the source."""
        changed: dict[str, Any] = {
            name: change(value)
            for name, value in vars(self).items()
            if isinstance(value, torch.Tensor | Source)
        }
        return replace(self, **changed)


class Batches(ABC):
    """Iterates over the batches, epoch after epoch, with an exact position."""

    carries_state: bool  # whether a batch continues the one before it
    tokens_per_epoch: int
    progress: float = 0.0  # of the training, from 0 to 1; set before every step

    @property
    def learned_per_epoch(self) -> int:
        """The number of tokens to train on: all, unless some are only read."""
        return self.tokens_per_epoch

    @property
    def steps_per_epoch(self) -> int | None:
        """The number of batches in an epoch; None if it is random."""
        return None

    @abstractmethod
    def next(self) -> Batch | None:
        """The next batch; None at the end of an epoch, then the next epoch begins."""

    @abstractmethod
    def position(self) -> dict[str, Any]:
        """The position, as plain data."""

    @abstractmethod
    def go_to(self, position: dict[str, Any]) -> None:
        """Go to a `position`."""
