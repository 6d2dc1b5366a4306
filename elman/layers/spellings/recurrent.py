"""A recurrence over characters in both directions, its last states (Lample et al. 2016)."""

from __future__ import annotations

import torch

from elman.layers.poolings.last import LastState
from elman.layers.spellings.spelling import Spelling
from elman.layers.stack import Stack, StackConfig


class RecurrentSpelling(Spelling):
    """An LSTM that spells the word forwards, another backwards."""

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
