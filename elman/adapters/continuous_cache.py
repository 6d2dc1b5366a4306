"""The continuous cache: words that came after similar moments come again (Grave et al. 2017).

    p(w) = (1 - λ) p_model(w) + λ p_cache(w)      p_cache(w) ∝ Σ_i 1[w = w_i] exp(θ h · h_i)

h is the vector the model predicts the next word from, h_i the one it predicted an earlier word w_i
from; i runs over the last `window` words, fewer at the beginning, when no more were read. Nothing
is learned: θ and λ are all there is, and what is not given is fitted on validation
text. How p_cache is computed, and fitted, is in `moments.py`.

A state is that of the model and, for each row, what is remembered: the vectors (B, window, size)
and the words (B, window), -1 where nothing was read yet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import torch

from elman.adapters.fit_context import FitContext
from elman.adapters.mixture import log
from elman.adapters.moments import NOTHING, distribution, fit, probabilities
from elman.adapters.wrapper import Wrapper
from elman.errors import InputError
from elman.models.contract import LanguageModel
from elman.state import State

ABOUT = "words that came after similar moments come again (Grave et al. 2017)"


@dataclass(kw_only=True)
class ContinuousCacheConfig:
    """A continuous cache."""

    window: int = 500  # words remembered
    theta: float | None = None  # how much more alike moments count; None: fitted on validation text
    weight: float | None = None  # λ, of the cache in the mixture; None: fitted on validation text

    def __post_init__(self) -> None:
        if self.window < 1:
            raise InputError(f"continuous-cache: window={self.window} must be at least 1")
        if self.theta is not None and not 0 <= self.theta < math.inf:
            raise InputError(f"continuous-cache: theta={self.theta} must be 0 or more, and finite")
        if self.weight is not None and not 0 <= self.weight <= 1:
            raise InputError(f"continuous-cache: weight={self.weight} must be from 0 to 1")


Config = ContinuousCacheConfig


def wrap(
    model: LanguageModel, config: ContinuousCacheConfig, around: FitContext
) -> ContinuousCache:
    """The model with a continuous cache, θ and λ fitted if they are not given."""
    if not model.has_vectors:
        raise InputError(
            "continuous-cache: compares hidden vectors, and this model has none; "
            "put it around a neural run, or take --with cache"
        )
    if config.theta is not None and config.weight is not None:
        return ContinuousCache(model, config.window, config.theta, config.weight)
    best = fit(model, config.window, config.theta, config.weight, around)
    fitted = ContinuousCache(model, config.window, best.theta, best.weight)
    around.remember(fitted, best.log_probs)
    return fitted


class ContinuousCache(Wrapper):
    """A model, mixed with the distribution of its recent words by how alike the moments are."""

    def __init__(self, model: LanguageModel, window: int, theta: float, weight: float) -> None:
        super().__init__(model)
        self.window = window
        self.theta = theta
        self.weight = weight
        self.horizon = None

    def start(self, batch_size: int, source: Any = None) -> State:
        inner = self.model.start(batch_size, source)
        vector = self.model.vector(inner)
        keys = vector.new_zeros(batch_size, self.window, vector.shape[1])
        return inner, keys, torch.full((batch_size, self.window), NOTHING)

    def predict(self, state: State) -> torch.Tensor:
        inner, keys, words = cast("tuple[State, torch.Tensor, torch.Tensor]", state)
        log_probs = self.model.predict(inner).double()
        cached = distribution(
            self.model.vector(inner), keys, words, self.theta, self.vocabulary_size
        )
        return self._mix(log_probs, cached, (words != NOTHING).any(1, keepdim=True))

    def read(self, ids: torch.Tensor, state: State) -> State:
        return self.score(ids, state)[1]

    def score(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        log_probs, _, after = self.score_and_vectors(ids, state)
        return log_probs, after

    def vector(self, state: State) -> torch.Tensor:
        return self.model.vector(state[0])

    def attention(self, state: State) -> tuple[torch.Tensor, torch.Tensor]:
        return self.model.attention(state[0])

    def score_and_vectors(
        self, ids: torch.Tensor, state: State
    ) -> tuple[torch.Tensor, torch.Tensor, State]:
        inner, keys, words = cast("tuple[State, torch.Tensor, torch.Tensor]", state)
        log_probs, vectors, inner = self.model.score_and_vectors(ids, inner)
        keys, words = torch.cat([keys, vectors], dim=1), torch.cat([words, ids], dim=1)
        cached = probabilities(vectors, ids, keys, words, self.window, [self.theta])[0]
        known = words[:, self.window - 1 : -1] != NOTHING  # whether the word before was read here
        mixed = self._mix(log_probs.double(), cached, known)
        return mixed, vectors, (inner, keys[:, ids.shape[1] :], words[:, ids.shape[1] :])

    def _mix(
        self, log_probs: torch.Tensor, cached: torch.Tensor, known: torch.Tensor
    ) -> torch.Tensor:
        """Log of both mixed; the model alone where nothing is remembered."""
        mixed = torch.logaddexp(log_probs + log(1 - self.weight), cached.log() + log(self.weight))
        return torch.where(known, mixed, log_probs)

    def settings(self) -> dict[str, Any]:
        return {"window": self.window, "theta": self.theta, "weight": self.weight}
