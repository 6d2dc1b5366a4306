"""The mean of the vectors of all words."""

from __future__ import annotations

import torch

from elman.layers.padding import real_tokens
from elman.layers.poolings.pooling import Pooling


class Mean(Pooling):
    """Every word counts alike."""

    about = "the mean over all words"

    def forward(self, outputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return (
            outputs.where(real_tokens(outputs, lengths).unsqueeze(2), 0).sum(1) / lengths[:, None]
        )
