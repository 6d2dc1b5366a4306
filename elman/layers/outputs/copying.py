"""A softmax over the vocabulary, or a word of the source (pointer-generator, See et al. 2017).

    g = σ(w · r + b)
    p(w) = g · softmax(W r + b)_w + (1 - g) · Σ_{j: x_j = w} α_j

r is what the decoder predicts from, α its attention, x_j the number of the source's word j in the
vocabulary, which `further` numbers extend: V + k is the k-th word of a source that is not in the
vocabulary itself. Called by the encoder–decoder, which adds attention and numbers to the evidence.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.functional import logsigmoid, pad

from elman.layers.outputs.output import Evidence, SoftmaxOutput, Table
from elman.layers.softmax import softmax_scores


class Copying(SoftmaxOutput):
    """The vocabulary, or what the source says there."""

    about = "a softmax, or a word of the source; exact (See et al. 2017)"

    def __init__(self, size: int, counts: torch.Tensor, *, further: int, **sizes: Any) -> None:
        """`further`: so many words that are not in the vocabulary have a number."""
        super().__init__(size, counts, **sizes)
        self.further = further
        self.gate = nn.Linear(self.size, 1)

    def loss(self, evidence: Evidence, targets: torch.Tensor, table: Table) -> torch.Tensor:
        return -self.score(evidence, targets, table).sum()

    def score(self, evidence: Evidence, targets: torch.Tensor, table: Table) -> torch.Tensor:
        hidden, weights, places = evidence
        own = targets < self.vocabulary_size
        inside = targets.where(own, 0)
        softmax = softmax_scores(hidden, self.matrix(table), self.bias, inside)
        gate = self.gate(hidden).squeeze(1)
        lowest = torch.finfo(hidden.dtype).min / 2  # stands for -∞, and has no slope
        generated = (logsigmoid(gate) + softmax).where(own, lowest)
        pointed = weights.masked_fill(places != targets[:, None], 0).sum(1)
        copied = logsigmoid(-gate) + _log(pointed)
        return torch.logaddexp(generated, copied)

    def log_probs(self, evidence: Evidence, table: Table) -> torch.Tensor:
        hidden, weights, places = evidence
        gate = torch.sigmoid(self.gate(hidden))
        softmax = super().log_probs((hidden,), table).exp()
        mixed = pad(gate * softmax, (0, self.further))
        return _log(mixed.scatter_add(1, places, (1 - gate) * weights))

    def multiplications(self, step_tokens: int) -> float:
        return super().multiplications(step_tokens) + self.size


def _log(probabilities: torch.Tensor) -> torch.Tensor:
    """The logarithm, finite where there is nothing."""
    return probabilities.clamp(min=torch.finfo(probabilities.dtype).tiny).log()
