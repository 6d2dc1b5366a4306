"""A flatter or sharper distribution: p(w) ∝ p_model(w)^(1/τ), τ fitted on validation text.

Trained networks are often overconfident; a τ above one corrects that (Guo et al. 2017).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from elman.adapters import FitContext
from elman.adapters.wrapper import Wrapper
from elman.errors import InputError
from elman.models.contract import LanguageModel
from elman.state import State

ABOUT = "flattens or sharpens the distribution; fitted on validation text (Guo et al. 2017)"

_AT_ONCE = 1 << 22  # probabilities held in memory
_TRIED = np.linspace(0.7, 1.6, 19)


@dataclass(kw_only=True)
class Config:
    """Settings of the temperature."""

    value: float | None = None  # τ; None: fitted on validation text

    def __post_init__(self) -> None:
        if self.value is not None and not 0 < self.value < math.inf:
            raise InputError(f"temperature: value={self.value} must be above 0, and finite")


def wrap(model: LanguageModel, config: Config, around: FitContext) -> Temperature:
    """Evaluate the model at a temperature."""
    if config.value is not None:
        return Temperature(model, config.value)
    trial = _Trial(model)
    around.remember(model, around.score(trial))
    return Temperature(model, trial.best())


class Temperature(Wrapper):
    """A model whose log probabilities are divided by τ and normalised again."""

    def __init__(self, model: LanguageModel, value: float) -> None:
        super().__init__(model)
        self.value = value

    def predict(self, state: State) -> torch.Tensor:
        return self._flatten(self.model.predict(state))

    def predict_all(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        log_probs, state = self.model.predict_all(ids, state)
        return self._flatten(log_probs), state

    def score(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        scores = []
        for part in _parts(ids, self.vocabulary_size):
            log_probs, state = self.predict_all(part, state)
            scores.append(log_probs.gather(2, part[..., None])[..., 0])
        return torch.cat(scores, dim=1), state

    def _flatten(self, log_probs: torch.Tensor) -> torch.Tensor:
        return (log_probs / self.value).log_softmax(-1)

    def settings(self) -> dict[str, Any]:
        return {"value": self.value}


def _parts(ids: torch.Tensor, vocabulary_size: int) -> tuple[torch.Tensor, ...]:
    """Ids (B, T) in pieces whose distributions fit into memory."""
    return torch.split(ids, max(1, _AT_ONCE // (len(ids) * vocabulary_size)), dim=1)


class _Trial(Wrapper):
    """A model that sums the log likelihood of the text at several temperatures as it scores."""

    def __init__(self, model: LanguageModel) -> None:
        super().__init__(model)
        self.nats = np.zeros(len(_TRIED))

    def score(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        scores = []
        for part in _parts(ids, self.vocabulary_size):
            log_probs, state = self.model.predict_all(part, state)
            chosen = log_probs.gather(2, part[..., None])[..., 0]
            scores.append(chosen)
            for number, value in enumerate(_TRIED):
                sums = (log_probs / value).logsumexp(-1)
                self.nats[number] += float((sums - chosen / value).sum(dtype=torch.float64))
        return torch.cat(scores, dim=1), state

    def best(self) -> float:
        """The minimum of a parabola through the best temperature and its neighbours."""
        middle = min(max(int(self.nats.argmin()), 1), len(_TRIED) - 2)
        near = slice(middle - 1, middle + 2)
        if not np.isfinite(self.nats[near]).all():
            return 1.0
        bend, slope, _ = np.polyfit(_TRIED[near], self.nats[near], 2)
        lowest = -slope / (2 * bend) if bend > 0 else _TRIED[int(self.nats.argmin())]
        return float(np.clip(lowest, _TRIED[0], _TRIED[-1]))
