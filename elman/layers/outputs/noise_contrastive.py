"""Noise-contrastive estimation: tell the next word from words that were drawn as noise.

    Δ(w) = W_w · h + b_w - log k q(w)                 q: how likely w is as noise, k noise words
    loss = -log σ(Δ(target)) - Σ_noise log σ(-Δ(w))

(Gutmann and Hyvärinen 2010, Mnih and Teh 2012.) The scores come out nearly normalised of their own
accord, because the biases begin as log frequencies: Z = 1 need not be learned. The noise words are
drawn once for all tokens of a step (Zoph et al. 2016), so that they are one product of matrices.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import embedding, logsigmoid

from elman.layers.outputs.output import SoftmaxOutput, at_least, noise_probabilities


class NoiseContrastive(SoftmaxOutput):
    """The next word against words of noise."""

    about = "the next word against a few random ones (NCE); exact when it is evaluated"

    def __init__(
        self,
        size: int,
        counts: torch.Tensor,
        *,
        samples: int = 500,
        noise_power: float = 1.0,
        **sizes: Any,
    ) -> None:
        """`samples` words are drawn, with the power `noise_power` of their frequencies."""
        super().__init__(size, counts, **sizes)
        at_least(samples, 1, "samples")
        at_least(noise_power, 0, "noise_power")
        self.samples = samples
        noise = noise_probabilities(counts, noise_power)
        self.register_buffer("noise", noise, persistent=False)
        self.noise: torch.Tensor

    def rows_per_token(self, step_tokens: int) -> float:
        return self.samples + 1

    def learn(
        self, hidden: torch.Tensor, targets: torch.Tensor, matrix: torch.Tensor
    ) -> torch.Tensor:
        drawn = torch.multinomial(self.noise, self.samples, replacement=True)
        # log k q(w), within the bias, so that it costs nothing per token.
        offsets = self.bias - (self.samples * self.noise).log().to(self.bias.dtype)
        true = (hidden * embedding(targets, matrix)).sum(1) + offsets[targets]
        noise = torch.addmm(offsets[drawn], hidden, matrix.index_select(0, drawn).t())
        return -logsigmoid(true).sum() - logsigmoid(-noise).sum()
