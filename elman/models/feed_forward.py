"""The feed-forward language model (Bengio et al. 2003): a hidden layer over a window of words.

x = [e_1; …; e_n]                      word vectors of the last n words
h = tanh(d + H x)
y = b + U h (+ W x)                    W: direct connections, optional
p = softmax(y)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from elman.errors import InputError
from elman.layers.dropout import dropout
from elman.layers.inputs import Material
from elman.models.window import WindowConfig, WindowModel


@dataclass(kw_only=True)
class FeedForwardConfig(WindowConfig):
    """Bengio's model: a hidden layer over the word vectors of a window."""

    tied: bool = False
    hidden_size: int = 100  # units of the hidden layer
    direct: bool = False  # connections from word vectors straight to the output

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hidden_size < 1:
            raise InputError(f"model.hidden_size={self.hidden_size}: must be at least 1")
        if self.direct and self.tied:
            raise InputError(
                "model.direct=true: the output reads more than word vectors; tied=false"
            )


class FeedForward(WindowModel):
    """A hidden layer over the word vectors of a window."""

    about = "a hidden layer over the last few words (Bengio et al. 2003)"
    config_class = FeedForwardConfig
    config: FeedForwardConfig

    def __init__(self, config: FeedForwardConfig, material: Material) -> None:
        super().__init__(config, material)
        seen = self.seen * self.input.size
        self.hidden = nn.Linear(seen, config.hidden_size)
        # U h + W x is one product with [h; x].
        self.add_output(config.hidden_size + (seen if config.direct else 0))

    def features(self, words: torch.Tensor) -> torch.Tensor:
        words = dropout(words, self.config.dropout, self.training)
        hidden = dropout(torch.tanh(self.hidden(words)), self.config.dropout, self.training)
        return torch.cat([hidden, words], dim=-1) if self.config.direct else hidden

    def describe(self) -> dict[str, Any]:
        return {
            "model": "feed-forward",
            "hidden_size": self.config.hidden_size,
        } | super().describe()
