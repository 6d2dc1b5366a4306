"""Vectors of words from their characters: for words that are not in the vocabulary."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import nn

from elman.layers.poolings import LastState
from elman.layers.stack import Stack, StackConfig
from elman.registry import Registry
from elman.text.word_list import SYMBOLS


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


class Nothing(Spelling):
    """Characters are not looked at."""

    about = "characters are not looked at"

    def __init__(self, character_size: int, size: int) -> None:
        super().__init__(1, 0)

    def forward(self, spelled: torch.Tensor) -> torch.Tensor:
        return self.vectors.weight.new_zeros(len(spelled), 0)


_WIDTH = 3


class Filters(Spelling):
    """Filters over characters, and the best match of each (dos Santos and Zadrozny 2014).

    f_j = max_i tanh(F_j · [c_{i-1}; c_i; c_{i+1}] + b_j)
    """

    about = "filters over three characters, the best match of each (Ma and Hovy 2016)"

    def __init__(self, character_size: int, size: int) -> None:
        super().__init__(character_size, size)
        self.filters = nn.Linear(_WIDTH * character_size, size)

    def forward(self, spelled: torch.Tensor) -> torch.Tensor:
        vectors = nn.functional.pad(self.vectors(spelled), (0, 0, 1, 1))
        windows = vectors.unfold(1, _WIDTH, 1).transpose(2, 3).flatten(2)  # (N, L, 3 · size)
        matches = self.filters(windows).masked_fill((spelled == 0).unsqueeze(2), -torch.inf)
        return torch.tanh(matches.amax(1))  # it keeps the order, so may come after the maximum


class RecurrentSpelling(Spelling):
    """A recurrence over characters in both directions, its last states (Lample et al. 2016)."""

    about = "LSTMs over the characters in both directions (Lample et al. 2016)"

    def __init__(self, character_size: int, size: int) -> None:
        super().__init__(character_size, size + size % 2)
        config = StackConfig(cell="lstm", hidden_size=self.size // 2, bidirectional=True)
        self.stack = Stack(character_size, config)
        self.last = LastState(self.size, directions=2)

    def forward(self, spelled: torch.Tensor) -> torch.Tensor:
        lengths = (spelled != 0).sum(1)
        run = self.stack(self.vectors(spelled), lengths=lengths)
        vectors: torch.Tensor = self.last(run.outputs, lengths)
        return vectors


SPELLINGS = Registry(
    "way of spelling",
    {"none": Nothing, "cnn": Filters, "rnn": RecurrentSpelling},
    group="spellings",
)
