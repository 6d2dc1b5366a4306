"""BlackOut: a softmax over the target and a few sampled words (Ji et al. 2016).

    p̃(w) = exp(Δ(w)) / Σ_{v in target, noise} exp(Δ(v))             Δ: see `noise.py`
    loss = -log p̃(target) - Σ_noise log(1 - p̃(w))

A noise word that is a token's own target does not count for that token.
"""

from __future__ import annotations

from typing import Any

import torch

from elman.layers.outputs.noise import NoiseOutput


class BlackOut(NoiseOutput):
    """All of them together, in a softmax of their own."""

    about = "a softmax over the next word and a few random ones; exact when it is evaluated"

    def __init__(
        self, size: int, counts: torch.Tensor, *, noise_power: float = 0.4, **options: Any
    ) -> None:
        super().__init__(size, counts, noise_power=noise_power, **options)

    def contrast(self, true: torch.Tensor, noise: torch.Tensor, same: torch.Tensor) -> torch.Tensor:
        others = noise.masked_fill(same, -torch.inf)
        log_p = torch.cat([true[:, None], others], dim=1).log_softmax(1)
        # 1 - p̃ is never quite zero, so that its logarithm has a slope.
        against = torch.log1p(-log_p[:, 1:].exp().clamp(max=1 - 1e-6))
        return -log_p[:, 0].sum() - against.sum()
