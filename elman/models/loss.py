"""What a step of training learns from."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Loss:
    """Sums and counts; the division is the loop's."""

    nats: torch.Tensor  # summed over the tokens
    tokens: int
    penalty: torch.Tensor | float = 0.0  # per token, beside the nats
