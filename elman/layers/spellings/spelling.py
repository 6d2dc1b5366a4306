"""What every way of spelling is: words in symbols in, a vector of each out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import nn

from elman.text.spelling import SYMBOLS


class Spelling(nn.Module, ABC):
    """A vector from the characters of a word."""

    about: ClassVar[str]
    size: int  # of the vectors

    def __init__(self, character_size: int, size: int) -> None:
        super().__init__()
        self.size = size
        self.vectors = nn.Embedding(SYMBOLS, character_size, padding_idx=0)

    @abstractmethod
    def forward(self, spelled: torch.Tensor) -> torch.Tensor:
        """Vectors (N, size) of words in symbols (N, L), 0 after the end of each."""
