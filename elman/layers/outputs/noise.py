"""Outputs that learn to tell the next word from words that were drawn as noise.

    Δ(w) = W_w · h + b_w - log k q(w)         q: how likely w is as noise, k noise words

The noise words are drawn once for all tokens of a step (Zoph et al. 2016), so that their scores are
one product of matrices. What is made of Δ, each output says.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import torch

from elman.layers.outputs.output import SoftmaxOutput, at_least


class NoiseOutput(SoftmaxOutput):
    """The next word against words of noise."""

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
        frequent = (counts + 1).double().pow(noise_power)
        noise = (frequent / frequent.sum()).float()
        self.register_buffer("noise", noise, persistent=False)
        self.noise: torch.Tensor

    @abstractmethod
    def contrast(self, true: torch.Tensor, noise: torch.Tensor, same: torch.Tensor) -> torch.Tensor:
        """The loss from Δ of the targets, (N,), and of the noise words, (N, k).

        same (N, k): where a noise word is the row's own target.
        """

    def learn(
        self, hidden: torch.Tensor, targets: torch.Tensor, matrix: torch.Tensor
    ) -> torch.Tensor:
        drawn = torch.multinomial(self.noise, self.samples, replacement=True)
        words = torch.cat([targets, drawn])  # both at once: a gradient is as large as the matrix
        weight = matrix.index_select(0, words)
        offsets = (self.bias - (self.samples * self.noise).log().to(self.bias.dtype))[words]
        true = (hidden * weight[: len(targets)]).sum(1) + offsets[: len(targets)]
        noise = torch.addmm(offsets[len(targets) :], hidden, weight[len(targets) :].t())
        return self.contrast(true, noise, drawn == targets[:, None])

    def rows_per_token(self, step_tokens: int) -> float:
        return self.samples + 1
