"""For every word of one sentence, the words of another that are like it (Lee et al. 2016).

    α(x) = ReLU(W x + b),   a_ij = softmax_j(α(p_i) · α(q_j)),   f(p_i) = Σ_j a_ij q_j

A soft match, where words need not be the same: `car` finds `vehicle`. Called by the answerer.
"""

from __future__ import annotations

import torch
from torch import nn

from elman.layers.padding import real_tokens


class Alignment(nn.Module):
    """Vectors of a question, in the order of a passage."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.key = nn.Linear(size, size)

    def forward(
        self, passage: torch.Tensor, question: torch.Tensor, lengths: torch.Tensor
    ) -> torch.Tensor:
        """(B, P, size) from (B, P, size) and (B, Q, size), of which `lengths` (B,) count."""
        keys = torch.relu(self.key(passage)), torch.relu(self.key(question))
        scores = keys[0] @ keys[1].transpose(1, 2)  # (B, P, Q)
        real = real_tokens(question, lengths).unsqueeze(1)
        return scores.where(real, -torch.inf).softmax(2) @ question.where(real.mT, 0)
