"""The last state; of two directions, the last of each: where it has read the whole sentence."""

from __future__ import annotations

import torch

from elman.layers.poolings.pooling import Pooling


class LastState(Pooling):
    """What each direction knew when it had read everything."""

    about = "the last state (of both directions, concatenated)"

    def forward(self, outputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        rows = torch.arange(len(outputs), device=outputs.device)
        last = outputs[rows, lengths - 1]
        if self.directions == 1:
            return last
        half = self.size // 2
        return torch.cat([last[:, :half], outputs[:, 0, half:]], dim=1)
