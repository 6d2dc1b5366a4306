"""Topics of the last words, as further input of a network (Mikolov and Zweig 2012).

    r_iz ∝ θ_z P(w_i | z)                  which topic each of the last words is of
    θ_z  ∝ share_z + Σ_i r_iz              and so, which topics they have; a few times over

What words a topic has was learned beforehand (`counts/topics.py`). A sentence that the network has
long forgotten still tells what the text is about. (The paper multiplies P(topic | word) over the
last words, which soon leaves one topic alone; the mixture says more about the next word.)
"""

from __future__ import annotations

from typing import cast

import torch
from torch import nn

from elman.state import State

_ROUNDS = 4
_WINDOWS_AT_A_TIME = 2048  # their words are looked up in memory that stays small


class TopicContext(nn.Module):
    """What the last words are about."""

    def __init__(self, in_topics: torch.Tensor, share: torch.Tensor, window: int) -> None:
        """`in_topics` (V, topics): P(word | topic); `share` (topics,): how frequent each is."""
        super().__init__()
        self.window = window
        self.register_buffer("in_topics", in_topics)
        self.register_buffer("share", share)

    in_topics: torch.Tensor
    share: torch.Tensor

    def begin(self, batch_size: int) -> State:
        """The last words before anything was read: none."""
        return torch.full((batch_size, self.window), -1, device=self.share.device)

    def forward(self, ids: torch.Tensor, carried: State) -> tuple[torch.Tensor, State]:
        """Topics after each of the ids, (B, T, topics), and the last words after all of them."""
        known = torch.cat([cast("torch.Tensor", carried), ids], dim=1)
        windows = known.unfold(1, self.window, 1)[:, 1:].flatten(0, 1)
        topics = torch.cat([self._infer(part) for part in torch.split(windows, _WINDOWS_AT_A_TIME)])
        return topics.view(*ids.shape, -1), known[:, ids.shape[1] :]

    def _infer(self, words: torch.Tensor) -> torch.Tensor:
        """The mixture of topics of each window of words, (N, topics)."""
        likely = self.in_topics[words.clamp(min=0)] * (words >= 0).unsqueeze(2)  # (N, n, topics)
        mixture = self.share.expand(len(words), -1)
        for _ in range(_ROUNDS):
            together = torch.bmm(likely, mixture.unsqueeze(2)).clamp(min=1e-30)  # (N, n, 1)
            mixture = self.share + mixture * torch.bmm(
                likely.transpose(1, 2), together.reciprocal()
            ).squeeze(2)
            mixture = mixture / mixture.sum(1, keepdim=True)
        return mixture
