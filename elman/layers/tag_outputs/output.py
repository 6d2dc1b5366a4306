"""What every output of a tagger is: scores of tags in, a loss or the best tags out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import nn


class TagOutput(nn.Module, ABC):
    """Judges tags by scores (B, T, K), of which the first `lengths` (B,) of each row count."""

    about: ClassVar[str]

    def __init__(self, tags: int) -> None:
        super().__init__()
        self.tags = tags

    @abstractmethod
    def loss(self, scores: torch.Tensor, tags: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Nats of the right tags (B, T), summed over all words."""

    @abstractmethod
    def best(self, scores: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """The likeliest tags (B, T); beyond the lengths, anything."""
