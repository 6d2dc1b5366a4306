"""Where an answer begins and where it ends: bilinear attention to the words of a passage.

    P_start(i) = softmax_i(p_i W_s q),   P_end(i) = softmax_i(p_i W_e q)      (Chen et al. 2017)

Takes hidden vectors of a passage and the vector of a question, gives log probabilities;
`best_spans` finds the likeliest span in them. Called by the answerer.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn

from elman.layers.padding import real_tokens


class SpanPointers(nn.Module):
    """Two distributions over the words of a passage."""

    def __init__(self, passage_size: int, question_size: int) -> None:
        super().__init__()
        self.start = nn.Linear(question_size, passage_size, bias=False)
        self.end = nn.Linear(question_size, passage_size, bias=False)

    def forward(
        self, passage: torch.Tensor, question: torch.Tensor, lengths: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Log probabilities (B, T) of start and end, from (B, T, size) and (B, size)."""
        real = real_tokens(passage, lengths)
        starts, ends = (
            (passage @ weights(question).unsqueeze(2)).squeeze(2).where(real, -torch.inf)
            for weights in (self.start, self.end)
        )
        return starts.log_softmax(1), ends.log_softmax(1)


class Spans(NamedTuple):
    """A span for every row: its first and last word, (B,) each, and its log probability."""

    firsts: torch.Tensor
    lasts: torch.Tensor
    log_probs: torch.Tensor


def best_spans(starts: torch.Tensor, ends: torch.Tensor, longest: int) -> Spans:
    """The likeliest start ≤ end < start + longest, by log probabilities (B, T) of both.

    Of spans that are equally likely, the first, and of these the shortest.
    """
    widths = min(longest, starts.shape[1])
    moved = [
        nn.functional.pad(ends[:, width:], (0, width), value=-torch.inf) for width in range(widths)
    ]
    sums = starts.unsqueeze(2) + torch.stack(moved, dim=2)  # (B, T, widths)
    log_probs, places = sums.flatten(1).max(1)
    firsts = places // widths
    return Spans(firsts, firsts + places % widths, log_probs)
