"""Filters over characters, and the best match of each (dos Santos and Zadrozny 2014).

f_j = max_i tanh(F_j · [c_{i-1}; c_i; c_{i+1}] + b_j)
"""

from __future__ import annotations

import torch
from torch import nn

from elman.layers.spellings.spelling import Spelling

_WIDTH = 3


class Filters(Spelling):
    """Three characters at a time."""

    about = "filters over three characters, the best match of each (Ma and Hovy 2016)"

    def __init__(self, character_size: int, size: int) -> None:
        super().__init__(character_size, size)
        self.filters = nn.Linear(_WIDTH * character_size, size)

    def forward(self, spelled: torch.Tensor) -> torch.Tensor:
        vectors = nn.functional.pad(self.vectors(spelled), (0, 0, 1, 1))
        windows = vectors.unfold(1, _WIDTH, 1).transpose(2, 3).flatten(2)  # (N, L, 3 · size)
        matches = self.filters(windows).masked_fill((spelled == 0).unsqueeze(2), -torch.inf)
        return torch.tanh(matches.amax(1))  # it keeps the order, so may come after the maximum
