"""BlackOut: a softmax over the target and a few sampled words (Ji et al. 2016).

    p̃(w) = exp(s_w) / q(w)  /  Σ_{v in target, drawn} exp(s_v) / q(v)        s = W h + b
    loss = -log p̃(target) - Σ_drawn log(1 - p̃(w))

q is a power of the words' frequencies. The words are drawn once for all tokens of a step; where one
of them is a token's own target, it does not count for that token.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import embedding

from elman.layers.outputs.output import SoftmaxOutput, at_least, noise_probabilities


class BlackOut(SoftmaxOutput):
    """The next word against sampled ones, in a softmax of their own."""

    about = "a softmax over the next word and a few random ones; exact when it is evaluated"

    def __init__(
        self,
        size: int,
        counts: torch.Tensor,
        *,
        samples: int = 500,
        noise_power: float = 0.4,
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
        offsets = self.bias - self.noise.log().to(self.bias.dtype)  # s - log q, q within the bias
        true = (hidden * embedding(targets, matrix)).sum(1) + offsets[targets]
        others = torch.addmm(offsets[drawn], hidden, matrix.index_select(0, drawn).t())
        others = others.masked_fill(drawn == targets[:, None], -torch.inf)
        log_p = torch.cat([true[:, None], others], dim=1).log_softmax(1)
        # 1 - p̃ is never quite zero, so that its logarithm has a slope.
        against = torch.log1p(-log_p[:, 1:].exp().clamp(max=1 - 1e-6))
        return -log_p[:, 0].sum() - against.sum()
