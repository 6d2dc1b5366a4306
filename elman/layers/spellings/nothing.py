"""Characters are not looked at."""

from __future__ import annotations

import torch

from elman.layers.spellings.spelling import Spelling


class Nothing(Spelling):
    """Vectors of no numbers."""

    about = "characters are not looked at"

    def __init__(self, character_size: int, size: int) -> None:
        super().__init__(1, 0)

    def forward(self, spelled: torch.Tensor) -> torch.Tensor:
        return self.vectors.weight.new_zeros(len(spelled), 0)
