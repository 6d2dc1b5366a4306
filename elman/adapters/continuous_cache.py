"""The continuous cache: words that came after similar moments come again (Grave et al. 2017).

    p(w) = (1 - λ) p_model(w) + λ p_cache(w)      p_cache(w) ∝ Σ_i 1[w = w_i] exp(θ h · h_i)

h is the vector the model predicts the next word from, h_i the one it predicted an earlier word w_i
from; i runs over the last `window` words, fewer at the beginning, when no more were read. Nothing
is learned: θ and λ are all there is, and what is not given is fitted on validation text.

A state is that of the model and, for each row, what is remembered: the vectors (B, window, size)
and the words (B, window), -1 where nothing was read yet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch

from elman.adapters.mixture import fit_weights
from elman.adapters.wrapper import Wrapper
from elman.errors import InputError

if TYPE_CHECKING:
    from elman.adapters.surroundings import Surroundings
    from elman.models.contract import LanguageModel
    from elman.state import State

ABOUT = "words that came after similar moments come again (Grave et al. 2017)"

_AT_ONCE = 256  # words compared with what is remembered at a time
_RANGE, _POINTS = (0.005, 2.0), 9  # values of θ that are tried


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
    model: LanguageModel, config: ContinuousCacheConfig, around: Surroundings
) -> ContinuousCache:
    """The model with a continuous cache, θ and λ fitted if they are not given."""
    if not model.has_vectors:
        raise InputError(
            "continuous-cache: compares hidden vectors, and this model has none; "
            "put it around a neural run, or take --with cache"
        )
    if config.theta is not None and config.weight is not None:
        return ContinuousCache(model, config.window, config.theta, config.weight)
    return _fit(model, config, around)


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
        return inner, keys, torch.full((batch_size, self.window), -1)

    def predict(self, state: State) -> torch.Tensor:
        inner, keys, words = cast("tuple[State, torch.Tensor, torch.Tensor]", state)
        log_probs = self.model.predict(inner).double()
        alike = keys @ self.model.vector(inner)[:, :, None]
        alike = (self.theta * alike[:, :, 0]).masked_fill(words < 0, -math.inf)
        shares = torch.nan_to_num(alike.softmax(1).double())  # of nothing: none
        cached = torch.zeros_like(log_probs).scatter_add_(1, words.clamp(min=0), shares)
        return self._mix(log_probs, cached, (words >= 0).any(1, keepdim=True))

    def read(self, ids: torch.Tensor, state: State) -> State:
        return self.score(ids, state)[1]

    def score(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        log_probs, _, after = self.score_and_vectors(ids, state)
        return log_probs, after

    def vector(self, state: State) -> torch.Tensor:
        return self.model.vector(state[0])

    def score_and_vectors(
        self, ids: torch.Tensor, state: State
    ) -> tuple[torch.Tensor, torch.Tensor, State]:
        inner, keys, words = cast("tuple[State, torch.Tensor, torch.Tensor]", state)
        log_probs, vectors, inner = self.model.score_and_vectors(ids, inner)
        keys, words = torch.cat([keys, vectors], dim=1), torch.cat([words, ids], dim=1)
        cached = self.probabilities(vectors, ids, keys, words, [self.theta])[0]
        known = words[:, self.window - 1 : -1] >= 0  # whether the word before was read here
        mixed = self._mix(log_probs.double(), cached, known)
        return mixed, vectors, (inner, keys[:, ids.shape[1] :], words[:, ids.shape[1] :])

    def probabilities(
        self,
        vectors: torch.Tensor,
        ids: torch.Tensor,
        keys: torch.Tensor,
        words: torch.Tensor,
        thetas: Sequence[float],
    ) -> torch.Tensor:
        """p_cache of each id for each θ, (θ, B, T), from keys and words (B, window + T) up to it.

        Zero where nothing is remembered.
        """
        cached = torch.zeros(len(thetas), *ids.shape, dtype=torch.float64)
        for begin in range(0, ids.shape[1], _AT_ONCE):
            now = slice(begin, begin + _AT_ONCE)
            wanted = ids[:, now]
            seen = slice(begin, begin + self.window + wanted.shape[1] - 1)
            outside = _outside(words[:, seen], self.window, keys.dtype)
            alike = vectors[:, now] @ keys[:, seen].transpose(1, 2)
            same = (words[:, None, seen] == wanted[..., None]) & (outside == 0)
            places = same.nonzero(as_tuple=True)
            for number, theta in enumerate(thetas):
                whole = torch.add(outside, alike, alpha=theta).logsumexp(2)
                shares = (theta * alike[places] - whole[places[:2]]).exp()
                cached[number, :, now].index_put_(places[:2], shares.double(), accumulate=True)
        return cached

    def _mix(
        self, log_probs: torch.Tensor, cached: torch.Tensor, known: torch.Tensor
    ) -> torch.Tensor:
        """Log of both mixed; the model alone where nothing is remembered."""
        mixed = torch.logaddexp(log_probs + _log(1 - self.weight), cached.log() + _log(self.weight))
        return torch.where(known, mixed, log_probs)

    def describe(self) -> dict[str, Any]:
        return {
            "model": "continuous-cache",
            "window": self.window,
            "theta": self.theta,
            "weight": self.weight,
            "around": self.model.describe(),
        }


def _outside(words: torch.Tensor, window: int, dtype: torch.dtype) -> torch.Tensor:
    """-inf for what a step cannot see of words (B, n), else 0; (B, t, n) or, alike for all, (t, n).

    The first of the t = n - window + 1 steps sees the first `window` words, the next is one on.
    """
    steps = words.shape[1] - window + 1
    ages = torch.arange(words.shape[1]) - torch.arange(steps)[:, None]
    hidden = (ages < 0) | (ages >= window)
    if (words < 0).any():
        hidden = hidden | (words < 0)[:, None]
    return torch.zeros(hidden.shape, dtype=dtype).masked_fill(hidden, -math.inf)


def _log(number: float) -> float:
    return math.log(number) if number > 0 else -math.inf


# Fitting ------------------------------------------------------------------------------------------


class _Recorder(Wrapper):
    """A model that keeps what it is asked to score, and the vectors, a text after the other."""

    def __init__(self, model: LanguageModel) -> None:
        super().__init__(model)
        self.horizon = None
        self.texts: list[list[tuple[torch.Tensor, torch.Tensor]]] = []

    def start(self, batch_size: int, source: Any = None) -> State:
        self.texts.append([])
        return super().start(batch_size, source)

    def score(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        log_probs, vectors, state = self.model.score_and_vectors(ids, state)
        self.texts[-1].append((ids, vectors))
        return log_probs, state


def _fit(
    model: LanguageModel, config: ContinuousCacheConfig, around: Surroundings
) -> ContinuousCache:
    """θ and λ that make the validation text most likely: of each θ, λ by EM; the best θ by trial.

    The model reads the text once; what is tried again and again is the cache.
    """
    recorder = _Recorder(model)
    log_probs = around.remember(model, around.score(recorder))
    parts = [map(torch.cat, zip(*_rows(text), strict=True)) for text in recorder.texts if text]
    texts = [(ids[None], vectors[None]) for ids, vectors in parts]

    def attempt(thetas: Sequence[float]) -> list[Attempt]:
        cache = ContinuousCache(model, config.window, 1.0, 0.5)
        cached = np.concatenate([_of_text(cache, *text, thetas) for text in texts], axis=1)
        return [
            _weigh(theta, log_probs, of_theta, config.weight)
            for theta, of_theta in zip(thetas, cached, strict=True)
        ]

    best = attempt([config.theta])[0] if config.theta is not None else _search(attempt)
    fitted = ContinuousCache(model, config.window, best.theta, best.weight)
    around.remember(fitted, best.log_probs)
    return fitted


@dataclass(frozen=True)
class Attempt:
    """How likely the validation text is with a θ and the best λ for it."""

    theta: float
    weight: float
    log_probs: np.ndarray

    @property
    def nats(self) -> float:
        return -float(self.log_probs.sum())


def _weigh(
    theta: float, log_probs: np.ndarray, cached: np.ndarray, weight: float | None
) -> Attempt:
    both = np.stack([log_probs, np.where(np.isnan(cached), log_probs, cached)])
    if weight is None:
        weight = float(fit_weights(both)[1])
    mixed = np.logaddexp(both[0] + _log(1 - weight), both[1] + _log(weight))
    return Attempt(theta, weight, mixed)


def _search(attempt: Callable[[Sequence[float]], list[Attempt]]) -> Attempt:
    """The best of a grid of θ, then of a finer one around it."""
    grid = np.geomspace(*_RANGE, _POINTS)
    best = min(attempt(grid.tolist()), key=lambda tried: tried.nats)
    finer = best.theta * np.geomspace(grid[0] / grid[1], grid[1] / grid[0], _POINTS)
    return min(attempt(finer.tolist()), key=lambda tried: tried.nats)


def _rows(text: list[tuple[torch.Tensor, torch.Tensor]]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [(ids[0], vectors[0]) for ids, vectors in text]


def _of_text(
    cache: ContinuousCache, ids: torch.Tensor, vectors: torch.Tensor, thetas: Sequence[float]
) -> np.ndarray:
    """log p_cache of every token of a text from its start, (θ, T); NaN where nothing is known."""
    nothing = vectors.new_zeros(1, cache.window, vectors.shape[2])
    keys = torch.cat([nothing, vectors], dim=1)
    words = torch.cat([torch.full((1, cache.window), -1), ids], dim=1)
    log_probs = cache.probabilities(vectors, ids, keys, words, thetas)[:, 0].log()
    log_probs[:, 0] = math.nan
    return log_probs.numpy()
