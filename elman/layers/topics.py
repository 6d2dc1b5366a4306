"""Topics of the last words, as further input of a network (Mikolov and Zweig 2012).

    f_t ∝ Π_{last n words} P(topic | word)           (B, T, topics), sums to one

What each word says about the topic was learned beforehand (`counts/topics.py`). A sentence that the
network has long forgotten still tells what the text is about.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import nn

from elman.state import State


class TopicContext(nn.Module):
    """What the last words are about."""

    def __init__(self, by_word: torch.Tensor, window: int) -> None:
        """`by_word` (V, topics): probabilities of the topics after each word alone."""
        super().__init__()
        self.window = window
        self.topics = by_word.shape[1]
        self.register_buffer("log_by_word", by_word.log())

    log_by_word: torch.Tensor

    def begin(self, batch_size: int) -> State:
        """The last words before anything was read: none."""
        return torch.full((batch_size, self.window), -1, device=self.log_by_word.device)

    def forward(self, ids: torch.Tensor, carried: State) -> tuple[torch.Tensor, State]:
        """Topics after each of the ids, and the last words after all of them."""
        known = torch.cat([cast("torch.Tensor", carried), ids], dim=1)
        says = self.log_by_word[known.clamp(min=0)] * (known >= 0).unsqueeze(2)
        # Doubles, because differences of long sums are taken.
        sums = nn.functional.pad(says.double().cumsum(1), (0, 0, 1, 0))
        steps = ids.shape[1]
        of_window = sums[:, -steps:] - sums[:, -steps - self.window :][:, :steps]
        return of_window.softmax(2).to(self.log_by_word.dtype), known[:, steps:]
