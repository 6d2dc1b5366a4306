"""The unigram cache: recent words are likely to occur again (Kuhn and De Mori 1990).

The cache is a model that predicts the words it has just read. Each occurrence has the weight

    exp(-decay * distance)      for the last `window` tokens; decay 0 is the plain, uniform cache

Before the first word the distribution is uniform. The cache is useful only when mixed with another
model. A state is the last `window` ids of each row, (B, window), with -1 for positions not filled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

from elman.adapters import FitContext
from elman.adapters.mixture import Mixture, mix
from elman.errors import InputError
from elman.models.contract import LanguageModel

ABOUT = "raises the probability of recent words (Kuhn and De Mori 1990)"

_AT_ONCE = 1 << 21  # comparisons held in memory


@dataclass(kw_only=True)
class Config:
    """Settings of the unigram cache."""

    window: int = 2000  # number of remembered tokens
    decay: float = 0.01  # decay of the weight with distance; 0: uniform within the window
    weight: float | None = None  # weight in the mixture; None: fitted on validation text

    def __post_init__(self) -> None:
        if self.window < 1:
            raise InputError(f"cache: window={self.window} must be at least 1")
        if not 0 <= self.decay < math.inf:
            raise InputError(f"cache: decay={self.decay} must be 0 or more, and finite")
        if self.weight is not None and not 0 <= self.weight <= 1:
            raise InputError(f"cache: weight={self.weight} must be from 0 to 1")


def wrap(model: LanguageModel, config: Config, around: FitContext) -> Mixture:
    """Mix the model with a cache."""
    return mix(model, UnigramCache(model.vocabulary_size, config), config.weight, around)


class UnigramCache(LanguageModel):
    """The distribution of the most recent words."""

    def __init__(self, vocabulary_size: int, config: Config) -> None:
        self.vocabulary_size = vocabulary_size
        self.config = config
        self.horizon = config.window
        distances = torch.arange(config.window - 1, -1, -1, dtype=torch.float64)
        self.weights = torch.exp(-config.decay * distances)  # (W,) oldest first
        # mass[n]: total weight of n remembered tokens
        self.mass = torch.cat([torch.zeros(1, dtype=torch.float64), self.weights.flip(0).cumsum(0)])

    def start(self, batch_size: int, source: Any = None) -> torch.Tensor:
        return torch.full((batch_size, self.config.window), -1)

    def predict(self, state: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        filled = state >= 0
        weights = self.weights * filled  # (B, W)
        counts = torch.zeros(len(state), self.vocabulary_size, dtype=torch.float64)
        counts.scatter_add_(1, state.clamp(min=0), weights)
        return self._normalise(counts, filled.sum(1, keepdim=True))

    def read(self, ids: torch.Tensor, state: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return torch.cat([state, ids], dim=1)[:, ids.shape[1] :]

    def score(  # type: ignore[override]
        self, ids: torch.Tensor, state: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        window = self.config.window
        rows = torch.cat([state, ids], dim=1)  # (B, W + T)
        pasts = rows.unfold(1, window, 1)  # (B, T + 1, W), a view
        filled = (rows >= 0).cumsum(1)[:, window - 1 : -1].clamp(max=window)  # (B, T)
        counts = torch.empty(ids.shape, dtype=torch.float64)
        at_once = max(1, _AT_ONCE // (window * len(ids)))
        for start in range(0, ids.shape[1], at_once):
            wanted = ids[:, start : start + at_once, None]
            same = pasts[:, start : start + wanted.shape[1]] == wanted  # (B, t, W)
            counts[:, start : start + at_once] = same.double() @ self.weights
        return self._normalise(counts, filled), self.read(ids, state)

    def _normalise(self, counts: torch.Tensor, filled: torch.Tensor) -> torch.Tensor:
        """Log of counts over their total weight; uniform where the cache is empty."""
        uniform = torch.tensor(1 / self.vocabulary_size, dtype=torch.float64)
        mass = self.mass[filled]
        return torch.where(filled > 0, counts / mass.clamp(min=1e-300), uniform).log()

    def describe(self) -> dict[str, Any]:
        return {"model": "cache", "window": self.config.window, "decay": self.config.decay}
