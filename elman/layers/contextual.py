"""What a frozen language model knows of words in their sentences, mixed for a task (ELMo).

    sentences ── frozen model ── layers (K, B, T, size) ──┬── mix ── with the input of a task
                                                          └── mix ── with its output, if wanted

Takes `Sentences`, gives (B, T, size) for every place of use, each with a mix of its own (softmax
weights and a factor, the task's to learn). The model itself is never learned: its weights want no
gradient, and it is in evaluation mode even while the task trains. Called by `encoders.py`.
"""

from __future__ import annotations

from typing import Any, Self

import torch
from torch import nn

from elman.batches.sentences import Sentences


class ScalarMix(nn.Module):
    """Layers of a frozen model, mixed: γ Σ_k softmax(w)_k h_k (Peters et al. 2018).

    A task learns w and γ; the model that gave the layers stays as it is. With `layer_norm`, each
    layer is normalised before it is weighed, over all real words of a batch at once, as in the
    paper's code.
    """

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


class Contextual(nn.Module):
    """Mixed layers of a frozen model."""

    def __init__(self, model: Any, *, uses: int = 1, layer_norm: bool = False) -> None:
        """`model`: has `layers(sentences)`, their number and size, as `models/bidirectional.py`.

        So many `uses`, so many mixes. It becomes part of this module, and is saved with it.
        """
        super().__init__()
        self.model = model.requires_grad_(False).eval()
        self.size: int = model.size
        self.mixes = nn.ModuleList(
            ScalarMix(model.num_layers, layer_norm=layer_norm) for _ in range(uses)
        )

    def train(self, mode: bool = True) -> Self:
        """The mixes learn; the model does not."""
        super().train(mode)
        self.model.eval()
        return self

    def squares(self) -> torch.Tensor:
        """‖w‖² of the weights of all mixes; zero where all layers count alike."""
        return torch.stack(
            [mix.get_parameter("weights").square().sum() for mix in self.mixes]
        ).sum()

    def forward(self, sentences: Sentences) -> list[torch.Tensor]:
        """(B, T, size) for every use."""
        with torch.no_grad():
            layers = self.model.layers(sentences)
        real = sentences.real()
        return [mix(layers, real) for mix in self.mixes]
