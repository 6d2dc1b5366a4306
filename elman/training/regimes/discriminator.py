"""Tells hidden vectors of a model that reads the true text from those of one that reads itself.

    h_1 … h_T ── GRU in both directions ── mean over time ── w · m + b = logit

Takes sequences (B, T, size), gives logits (B,): above zero it takes them for teacher-forced. Used
by professor forcing.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import softplus

from elman.layers.stack import Stack, StackConfig


class Discriminator(nn.Module):
    """A bidirectional GRU and one number on top (Lamb et al. 2016, section 3)."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        config = StackConfig(cell="gru", hidden_size=hidden_size, bidirectional=True)
        self.stack = Stack(input_size, config)
        self.judge = nn.Linear(self.stack.output_size, 1)

    def forward(self, hidden: torch.Tensor, lengths: torch.Tensor | None = None) -> torch.Tensor:
        outputs = self.stack(hidden, lengths=lengths).outputs  # (B, T, 2 hidden_size)
        # Beyond the lengths the outputs are zero.
        mean = outputs.mean(1) if lengths is None else outputs.sum(1) / lengths[:, None]
        logits: torch.Tensor = self.judge(mean)
        return logits.squeeze(1)


def separation_loss(forced: torch.Tensor, free: torch.Tensor) -> torch.Tensor:
    """-log D(forced) - log(1 - D(free)), mean over rows, from logits: what it learns by."""
    return softplus(-forced).mean() + softplus(free).mean()


def fooling_loss(free: torch.Tensor) -> torch.Tensor:
    """-log D(free), mean over rows, from logits: what the model learns by."""
    return softplus(-free).mean()


def accuracy(forced: torch.Tensor, free: torch.Tensor) -> float:
    """How many of the sequences are told right."""
    right = (forced > 0).sum() + (free <= 0).sum()
    return float(right) / (len(forced) + len(free))
