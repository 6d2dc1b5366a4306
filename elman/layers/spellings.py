"""Vectors of words from their characters: for words that are not in the vocabulary."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import nn

from elman.layers.hashing import affixes, into_table
from elman.layers.poolings import LastState
from elman.layers.stack import Stack, StackConfig
from elman.registry import Registry
from elman.text.word_list import BEGIN, SYMBOLS


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


_LONGEST_AFFIX = 4  # bytes
_AFFIXES = 1 << 14  # that can be told apart
_CAPITAL, _SMALL, _DIGIT = (65, 90), (97, 122), (48, 57)  # bytes


class Affixes(Filters):
    """Filters, and beside them prefixes, suffixes and the shape of a word (Ratnaparkhi 1996).

    [filters; Σ vectors of the prefixes and suffixes of one to four bytes, and of its shape]
    """

    about = "filters over three characters, prefixes, suffixes and the shape of the word"

    def __init__(self, character_size: int, size: int) -> None:
        super().__init__(character_size, size)
        self.affix_vectors = nn.Embedding(_AFFIXES, size)
        nn.init.zeros_(self.affix_vectors.weight)  # one that training never sees says nothing
        self.size = 2 * size

    def forward(self, spelled: torch.Tensor) -> torch.Tensor:
        numbers, real = affixes(spelled, _LONGEST_AFFIX)
        numbers = torch.cat([numbers, shapes(spelled).unsqueeze(1)], 1)
        real = torch.cat([real, real.new_ones(len(real), 1)], 1)
        vectors = self.affix_vectors(into_table(numbers, _AFFIXES)) * real.unsqueeze(2)
        return torch.cat([super().forward(spelled), vectors.sum(1)], 1)


def shapes(spelled: torch.Tensor) -> torch.Tensor:
    """A number for the shape of each word: what it begins with, and what it has of letters, digits
    and other marks, (N,).
    """
    kinds = torch.stack([_within(spelled, *kind) for kind in (_CAPITAL, _SMALL, _DIGIT)], 2)
    marks = (spelled > 0) & (spelled < BEGIN) & ~kinds.any(2)
    found = torch.cat([kinds.any(1), kinds[:, 1], marks.any(1, keepdim=True)], 1)  # (N, 7)
    return (found * 2 ** torch.arange(7, device=spelled.device)).sum(1)


def _within(spelled: torch.Tensor, first: int, last: int) -> torch.Tensor:
    return (spelled > first) & (spelled <= last + 1)  # symbols are bytes plus one


SPELLINGS = Registry(
    "way of spelling",
    {"none": Nothing, "cnn": Filters, "affixes": Affixes, "rnn": RecurrentSpelling},
    group="spellings",
)
