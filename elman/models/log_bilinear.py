"""The log-bilinear language model (Mnih and Hinton 2007): a window without a hidden layer.

    r̂ = Σ_i C_i r_{w_i}                    the vector of the next word, from those of the last n
    p(w) ∝ exp(r̂ · r_w + b_w)              how well each word's vector fits

The C_i are matrices, or vectors of weights (`diagonal`), which is far fewer to learn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from elman.layers.dropout import dropout
from elman.layers.inputs import Material
from elman.models.window import WindowConfig, WindowModel


@dataclass(kw_only=True)
class LogBilinearConfig(WindowConfig):
    """A prediction of the next word's vector."""

    embedding_size: int = 100
    order: int = 6
    diagonal: bool = False  # one number per dimension and place, instead of a matrix per place


class LogBilinear(WindowModel):
    """The next word's vector is a sum of the last ones, each led through a matrix."""

    about = "the next word's vector as a sum of the last few (Mnih and Hinton 2007)"
    config_class = LogBilinearConfig
    config: LogBilinearConfig

    def __init__(self, config: LogBilinearConfig, material: Material) -> None:
        super().__init__(config, material)
        size, seen = self.input.size, self.seen
        if config.diagonal:
            self.places = nn.Parameter(torch.full((seen, size), 1 / seen))
        else:
            eye = torch.eye(size).repeat(1, seen) / seen
            self.places = nn.Parameter(eye)  # (size, n · size): the C_i side by side
        self.add_output(size)

    def features(self, words: torch.Tensor) -> torch.Tensor:
        config = self.config
        if config.diagonal:
            windows = words.view(*words.shape[:2], self.seen, self.input.size)
            predicted = torch.einsum("btnd,nd->btd", windows, self.places)
        else:
            predicted = words @ self.places.t()
        return dropout(predicted, config.dropout, self.training)

    def describe(self) -> dict[str, Any]:
        return {"model": "log-bilinear", "diagonal": self.config.diagonal} | super().describe()
