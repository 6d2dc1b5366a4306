"""Noise-contrastive estimation: is it the next word, or noise?

    loss = -log σ(Δ(target)) - Σ_noise log σ(-Δ(w))                Δ: see `noise.py`

(Gutmann and Hyvärinen 2010, Mnih and Teh 2012.) The scores come out nearly normalised of their own
accord, because the biases begin as log frequencies: Z = 1 need not be learned.
"""

import torch
from torch.nn.functional import logsigmoid

from elman.layers.outputs.noise import NoiseOutput


class NoiseContrastive(NoiseOutput):
    """Each word by itself: true or noise."""

    about = "the next word against a few random ones (NCE); exact when it is evaluated"

    def contrast(self, true: torch.Tensor, noise: torch.Tensor, same: torch.Tensor) -> torch.Tensor:
        return -logsigmoid(true).sum() - logsigmoid(-noise).sum()
