"""The full softmax: every word, every time.

With label smoothing ε (Szegedy et al. 2016) a step of training learns from

    -(1 - ε) log p(target) - ε Σ_w log p(w) / V

so that no word is ever held to be impossible; evaluation is as ever.
"""

from __future__ import annotations

from typing import Any

import torch

from elman.errors import InputError
from elman.layers.outputs.output import SoftmaxOutput
from elman.layers.softmax import softmax_loss


class FullSoftmax(SoftmaxOutput):
    """Every word, every time."""

    about = "all words, exact"

    def __init__(
        self, size: int, counts: torch.Tensor, *, smoothing: float = 0.0, **sizes: Any
    ) -> None:
        """`smoothing`: so much of what is learned is every word alike, and not the target."""
        super().__init__(size, counts, **sizes)
        if not 0 <= smoothing < 1:
            raise InputError(f"smoothing={smoothing}: must be from 0 to below 1")
        self.smoothing = smoothing

    def learn(
        self, hidden: torch.Tensor, targets: torch.Tensor, matrix: torch.Tensor
    ) -> torch.Tensor:
        return softmax_loss(hidden, matrix, self.bias, targets, smoothing=self.smoothing)
