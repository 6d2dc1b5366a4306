"""Sampled softmax: the normaliser estimated from part of the vocabulary (Bengio and Senécal 2003).

Half of `samples` are the most frequent words, always there; the others are drawn evenly from the
rest. The words of the window itself are there too, since they are targets. A word that is there
with probability π stands for 1/π words of its kind, so log 1/π is added to its logit and the
normaliser is right on average. A vocabulary that is smaller than that is used whole.
"""

from __future__ import annotations

from typing import Any

import torch

from elman.layers.outputs.output import SoftmaxOutput, at_least
from elman.layers.softmax import softmax_loss


class SampledSoftmax(SoftmaxOutput):
    """Frequent words, words of the window, and a random few."""

    about = "frequent words, words of the window, and a random few; exact when it is evaluated"

    def __init__(
        self, size: int, counts: torch.Tensor, *, samples: int = 1000, **sizes: Any
    ) -> None:
        super().__init__(size, counts, **sizes)
        at_least(samples, 2, "samples")
        self.samples = samples
        ranked = torch.argsort(counts, descending=True, stable=True)
        self.register_buffer("ranked", ranked, persistent=False)
        frequency = (counts / counts.sum().clamp(min=1)).float()
        self.register_buffer("frequency", frequency, persistent=False)
        self.ranked: torch.Tensor
        self.frequency: torch.Tensor

    def rows_per_token(self, step_tokens: int) -> float:
        if self.samples >= self.vocabulary_size:
            return self.vocabulary_size
        return float((1 - self._absent(step_tokens)).sum())

    def learn(
        self, hidden: torch.Tensor, targets: torch.Tensor, matrix: torch.Tensor
    ) -> torch.Tensor:
        if self.samples >= self.vocabulary_size:
            return super().learn(hidden, targets, matrix)
        words, places, adjust = self.draw(targets)
        return softmax_loss(hidden, matrix.index_select(0, words), self.bias[words], places, adjust)

    def draw(self, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Words to learn from, where the targets are among them, and what to add to their logits.

        A row's own target has nothing to be added.
        """
        if self.samples >= self.vocabulary_size:
            return torch.arange(len(self.ranked)), targets, torch.zeros_like(self.frequency)
        always = self.samples // 2
        rest = self.ranked[always:]
        drawn = rest[torch.randperm(len(rest))[: self.samples - always]]
        there = torch.zeros_like(self.ranked, dtype=torch.bool)
        there[self.ranked[:always]] = True
        there[drawn] = True
        there[targets] = True
        words = there.nonzero().squeeze(1)
        places = torch.cumsum(there, 0) - 1  # id to its place among them
        return words, places[targets], self._log_weights(len(targets) - 1)[words]

    def _log_weights(self, others: int) -> torch.Tensor:
        """log 1/π of every word, π being how likely it is there if it is not the row's target."""
        return -torch.log1p(-self._absent(others))

    def _absent(self, tokens: int) -> torch.Tensor:
        """How likely each word is not there, beside so many tokens of the window."""
        always = self.samples // 2
        missed = 1 - (self.samples - always) / (self.vocabulary_size - always)
        absent = missed * (1 - self.frequency).pow(tokens)
        absent[self.ranked[:always]] = 0
        return absent
