"""Layers of a frozen model, mixed: γ Σ_k softmax(w)_k h_k (Peters et al. 2018).

A task learns w and γ; the model that gave the layers stays as it is. With `layer_norm`, each layer
is normalised before it is weighed, over all real words of a batch at once, as in the paper's code.
"""

from __future__ import annotations

import torch
from torch import nn


class ScalarMix(nn.Module):
    """One vector per word out of several."""

    def __init__(self, layers: int, *, layer_norm: bool = False) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers))
        self.scale = nn.Parameter(torch.ones(()))
        self.layer_norm = layer_norm

    def forward(self, layers: torch.Tensor, real: torch.Tensor | None = None) -> torch.Tensor:
        """(K, B, T, size) to (B, T, size); `real` (B, T): words, not padding."""
        if self.layer_norm:
            layers = torch.stack([_normalised(layer, real) for layer in layers])
        shares = self.weights.softmax(0)
        return self.scale * torch.einsum("k,k...->...", shares, layers)


def _normalised(layer: torch.Tensor, real: torch.Tensor | None) -> torch.Tensor:
    """Mean 0, variance 1 over all numbers of all real words."""
    counted = layer if real is None else layer[real]
    deviation = (counted.var(correction=0) + 1e-12).sqrt()
    return (layer - counted.mean()) / deviation
