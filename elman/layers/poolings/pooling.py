"""What every pooling is: vectors of words in, one vector of the sentence and each word's share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import nn


class Pooling(nn.Module, ABC):
    """Sums up outputs (B, T, size) of which the first `lengths` (B,) of each row count."""

    about: ClassVar[str]

    def __init__(self, size: int, directions: int) -> None:
        """`directions`: 2 where the second half of each vector was read from the end."""
        super().__init__()
        self.size = size
        self.directions = directions

    @abstractmethod
    def forward(self, outputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """One vector per row, (B, size)."""
