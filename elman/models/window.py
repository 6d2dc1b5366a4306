"""What models of the last few words share: the feed-forward and the log-bilinear one.

What is carried along is the ids of the last n words; before a text they are all `<eos>`. A family
says in `features` what it makes of their vectors.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, cast

import torch

from elman.errors import InputError
from elman.layers.dropout import check_rate
from elman.layers.inputs import Material
from elman.models.neural import NeuralModel
from elman.models.neural_config import NeuralConfig
from elman.state import State


@dataclass(kw_only=True)
class WindowConfig(NeuralConfig):
    """A model of the last few words."""

    order: int = 5  # n: the last n - 1 words are seen
    dropout: float = 0.0  # of what goes into the softmax and, where there is one, the hidden layer

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rate(self.dropout)
        if self.order < 2:
            raise InputError(f"model.order={self.order}: must be at least 2, to see one word")


class WindowModel(NeuralModel):
    """A family of models that see the last `order` - 1 words."""

    config: WindowConfig

    def __init__(self, config: WindowConfig, material: Material) -> None:
        super().__init__(config, material)
        self.horizon = self.seen = config.order - 1

    @abstractmethod
    def features(self, words: torch.Tensor) -> torch.Tensor:
        """A hidden vector (B, T, size) from the word vectors of each window, (B, T, n · size)."""

    def begin_encoding(self, batch_size: int) -> State:
        device = self.counts.device
        return torch.full((batch_size, self.seen), self.eos_id, device=device)

    def encode(
        self, ids: torch.Tensor, carried: State, lengths: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, State, torch.Tensor | float]:
        # Without the oldest word that is carried: the new ids take its place.
        known = torch.cat([cast("torch.Tensor", carried)[:, 1:], ids], dim=1)
        vectors = self.input(known).unfold(1, self.seen, 1)  # (B, T, size, n)
        windows = vectors.transpose(2, 3).flatten(2)
        carried = torch.cat([cast("torch.Tensor", carried), ids], dim=1)
        return self.features(windows), carried[:, ids.shape[1] :], 0.0

    def describe(self) -> dict[str, Any]:
        return {"order": self.config.order, **super().describe()}
