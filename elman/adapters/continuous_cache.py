"""The continuous cache: words that followed similar hidden states recur (Grave et al. 2017).

    p(w) = (1 - λ) p_model(w) + λ p_cache(w)      p_cache(w) ∝ Σ_i 1[w = w_i] exp(θ h · h_i)

h is the hidden vector from which the model predicts the next word, h_i the one from which it
predicted an earlier word w_i; i runs over the last `window` words, or fewer at the beginning. The
cache has no trained weights, only θ and λ; if they are not given, they are fitted on validation
text.

A state is the state of the model and, for each row, the remembered vectors (B, window, size) and
words (B, window), with -1 for positions not filled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch

from elman.adapters import FitContext
from elman.adapters.mixture import log
from elman.adapters.wrapper import Wrapper
from elman.counts.merging import fit_weights
from elman.errors import InputError
from elman.models.contract import LanguageModel
from elman.state import State

ABOUT = "raises the probability of words that followed similar states (Grave et al. 2017)"


@dataclass(kw_only=True)
class Config:
    """Settings of the continuous cache."""

    window: int = 500  # number of remembered words
    theta: float | None = None  # θ, weight of similarity; None: fitted on validation text
    weight: float | None = None  # λ, weight in the mixture; None: fitted on validation text

    def __post_init__(self) -> None:
        if self.window < 1:
            raise InputError(f"continuous-cache: window={self.window} must be at least 1")
        if self.theta is not None and not 0 <= self.theta < math.inf:
            raise InputError(f"continuous-cache: theta={self.theta} must be 0 or more, and finite")
        if self.weight is not None and not 0 <= self.weight <= 1:
            raise InputError(f"continuous-cache: weight={self.weight} must be from 0 to 1")


def wrap(model: LanguageModel, config: Config, around: FitContext) -> ContinuousCache:
    """Add a continuous cache to the model; fit θ and λ if they are not given."""
    if not model.has_vectors:
        raise InputError(
            "continuous-cache: this model has no hidden vectors to compare; "
            "use a neural run, or --with cache"
        )
    if config.theta is not None and config.weight is not None:
        return ContinuousCache(model, config.window, config.theta, config.weight)
    best = fit(model, config.window, config.theta, config.weight, around)
    fitted = ContinuousCache(model, config.window, best.theta, best.weight)
    if config.weight is None:
        fitted.both = best.both
    around.remember(fitted, best.log_probs)
    return fitted


class ContinuousCache(Wrapper):
    """A model mixed with its recent words, weighted by the similarity of hidden states."""

    def __init__(self, model: LanguageModel, window: int, theta: float, weight: float) -> None:
        super().__init__(model)
        self.window = window
        self.theta = theta
        self.weight = weight
        self.horizon = None
        self.both: np.ndarray | None = None  # if λ was fitted: see `fitted_scores`

    def fitted_scores(self) -> np.ndarray | None:
        """Log probabilities of the validation text under model and cache, if λ was fitted."""
        return self.both

    def reweighted(self, weight: float) -> ContinuousCache:
        """The same cache with another λ."""
        cache = ContinuousCache(self.model, self.window, self.theta, weight)
        cache.both = self.both
        return cache

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
        known = words[:, self.window - 1 : -1] != NOTHING  # whether the previous word was read here
        mixed = self._mix(log_probs.double(), cached, known)
        return mixed, vectors, (inner, keys[:, ids.shape[1] :], words[:, ids.shape[1] :])

    def _mix(
        self, log_probs: torch.Tensor, cached: torch.Tensor, known: torch.Tensor
    ) -> torch.Tensor:
        """Log of the mixture; the model alone where the cache is empty."""
        mixed = torch.logaddexp(log_probs + log(1 - self.weight), cached.log() + log(self.weight))
        return torch.where(known, mixed, log_probs)

    def settings(self) -> dict[str, Any]:
        return {"window": self.window, "theta": self.theta, "weight": self.weight}


NOTHING = -1  # position not filled yet
_AT_ONCE = 256  # words compared with the cache at a time


def probabilities(
    vectors: torch.Tensor,
    ids: torch.Tensor,
    keys: torch.Tensor,
    words: torch.Tensor,
    window: int,
    thetas: Sequence[float],
) -> torch.Tensor:
    """p_cache of each id for each θ, (θ, B, T), from keys and words (B, window + T) up to it.

    Zero where the cache is empty.
    """
    cached = torch.zeros(len(thetas), *ids.shape, dtype=torch.float64)
    for begin in range(0, ids.shape[1], _AT_ONCE):
        now = slice(begin, begin + _AT_ONCE)
        wanted = ids[:, now]
        seen = slice(begin, begin + window + wanted.shape[1] - 1)
        outside = _outside(words[:, seen], window, keys.dtype)
        alike = vectors[:, now] @ keys[:, seen].transpose(1, 2)
        same = (words[:, None, seen] == wanted[..., None]) & (outside == 0)
        places = same.nonzero(as_tuple=True)
        for number, theta in enumerate(thetas):
            whole = torch.add(outside, alike, alpha=theta).logsumexp(2)
            shares = (theta * alike[places] - whole[places[:2]]).exp()
            cached[number, :, now].index_put_(places[:2], shares.double(), accumulate=True)
    return cached


def distribution(
    vectors: torch.Tensor,
    keys: torch.Tensor,
    words: torch.Tensor,
    theta: float,
    vocabulary_size: int,
) -> torch.Tensor:
    """p_cache of every word, (B, V), after vectors (B, size); zeros where the cache is empty."""
    alike = keys @ vectors[:, :, None]
    alike = (theta * alike[:, :, 0]).masked_fill(words == NOTHING, -math.inf)
    shares = torch.nan_to_num(alike.softmax(1).double())  # an empty cache gives no probability
    cached = torch.zeros(len(words), vocabulary_size, dtype=torch.float64)
    return cached.scatter_add_(1, words.clamp(min=0), shares)


def _outside(words: torch.Tensor, window: int, dtype: torch.dtype) -> torch.Tensor:
    """-inf where a step cannot see one of the words (B, n), else 0; (B, t, n), or (t, n) if all
    rows are alike.

    The first of the t = n - window + 1 steps sees the first `window` words; each step moves by one.
    """
    steps = words.shape[1] - window + 1
    ages = torch.arange(words.shape[1]) - torch.arange(steps)[:, None]
    hidden = (ages < 0) | (ages >= window)
    unread = words == NOTHING
    if unread.any():
        hidden = hidden | unread[:, None]
    return torch.zeros(hidden.shape, dtype=dtype).masked_fill(hidden, -math.inf)


_RANGE, _POINTS = (0.005, 2.0), 9  # candidate values of θ


@dataclass(frozen=True)
class Attempt:
    """The likelihood of the validation text with a θ and a λ."""

    theta: float
    weight: float
    log_probs: np.ndarray  # of every token of the text, under the mixture
    both: np.ndarray  # of every token under model and cache, (2, N)


def fit(
    model: LanguageModel,
    window: int,
    theta: float | None,
    weight: float | None,
    around: FitContext,
) -> Attempt:
    """Find the best θ and λ; given values are kept.

    For each θ, expectation maximisation finds the best λ. θ is searched on a grid and then on a
    finer one. The model reads the text once; only the cache is computed again.
    """
    recorder = _Recorder(model)
    log_probs = around.remember(model, around.score(recorder))

    def best_of(thetas: Sequence[float]) -> Attempt:
        cached = np.concatenate(
            [_of_text(*text, window, thetas) for text in recorder.texts()], axis=1
        )
        attempts = [
            _weigh(tried, log_probs, of_tried, weight)
            for tried, of_tried in zip(thetas, cached, strict=True)
        ]
        return max(attempts, key=lambda attempt: attempt.log_probs.sum())

    if theta is not None:
        return best_of([theta])
    grid = np.geomspace(*_RANGE, _POINTS)
    best = best_of(grid.tolist())
    finer = best.theta * np.geomspace(grid[0] / grid[1], grid[1] / grid[0], _POINTS)
    return best_of(finer.tolist())


class _Recorder(Wrapper):
    """A model that records the ids it scores and their vectors, text by text."""

    def __init__(self, model: LanguageModel) -> None:
        super().__init__(model)
        self.horizon = None
        self.reorders_lines = False  # vectors are recorded in the order of the text
        self._pieces: list[list[tuple[torch.Tensor, torch.Tensor]]] = []

    def start(self, batch_size: int, source: Any = None) -> State:
        self._pieces.append([])
        return super().start(batch_size, source)

    def score(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        log_probs, vectors, state = self.model.score_and_vectors(ids, state)
        self._pieces[-1].append((ids, vectors))
        return log_probs, state

    def texts(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Ids (1, T) and vectors (1, T, size) of each text, from its start."""
        return [
            (
                torch.cat([ids[:1] for ids, _ in pieces], dim=1),
                torch.cat([vectors[:1] for _, vectors in pieces], dim=1),
            )
            for pieces in self._pieces
            if pieces
        ]


def _of_text(
    ids: torch.Tensor, vectors: torch.Tensor, window: int, thetas: Sequence[float]
) -> np.ndarray:
    """log p_cache of every token of a text from its start, (θ, T); NaN where the cache is empty."""
    nothing = vectors.new_zeros(1, window, vectors.shape[2])
    keys = torch.cat([nothing, vectors], dim=1)
    words = torch.cat([torch.full((1, window), NOTHING), ids], dim=1)
    log_probs = probabilities(vectors, ids, keys, words, window, thetas)[:, 0].log()
    log_probs[:, 0] = math.nan
    return log_probs.numpy()


def _weigh(
    theta: float, log_probs: np.ndarray, cached: np.ndarray, weight: float | None
) -> Attempt:
    """Mix with the given weight or the best one; the model alone where the cache is empty."""
    both = np.stack([log_probs, np.where(np.isnan(cached), log_probs, cached)])
    if weight is None:
        weight = float(fit_weights(both)[1])
    mixed = np.logaddexp(both[0] + log(1 - weight), both[1] + log(weight))
    return Attempt(theta, weight, mixed, both)
