"""The largest value of each unit over all words (Collobert and Weston 2008)."""

from __future__ import annotations

import torch

from elman.layers.padding import real_tokens
from elman.layers.poolings.pooling import Pooling


class Maximum(Pooling):
    """Each unit takes the word that excites it most."""

    about = "the element-wise maximum over all words"

    def forward(self, outputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return outputs.where(real_tokens(outputs, lengths).unsqueeze(2), -torch.inf).amax(1)
