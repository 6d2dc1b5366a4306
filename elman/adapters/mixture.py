"""Linear interpolation: an ensemble of models with one vocabulary and fixed weights.

Weights are fitted by expectation maximisation on validation text (Jelinek and Mercer 1980).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch

from elman.adapters import FitContext
from elman.adapters.wrapper import require_distributions
from elman.counts.merging import fit_weights
from elman.errors import InputError
from elman.models.contract import LanguageModel
from elman.state import State


class Mixture(LanguageModel):
    """p(w) = sum over models of weight * p_model(w)."""

    def __init__(
        self, models: Sequence[LanguageModel], weights: Sequence[float], *, fitted: bool = False
    ) -> None:
        """fitted: the weights were fitted, so adding a model may change them."""
        for model in models:
            require_distributions(model)
        sizes = {model.vocabulary_size for model in models}
        if len(sizes) != 1:
            raise InputError(
                "models with different vocabularies cannot be mixed "
                f"({', '.join(f'{size:,}' for size in sorted(sizes))} tokens)"
            )
        if any(weight < 0 for weight in weights) or not math.isclose(sum(weights), 1):
            raise InputError(
                f"mixture weights must be positive and sum to one, not {list(weights)}"
            )
        self.models = list(models)
        self.weights = [float(weight) for weight in weights]
        self.fitted = fitted
        self.vocabulary_size = sizes.pop()
        horizons = [model.horizon for model in models]
        self.horizon = None if None in horizons else max(h for h in horizons if h is not None)
        self.resets_at_lines = all(model.resets_at_lines for model in models)
        self.reads = "; ".join(dict.fromkeys(model.reads for model in models if model.reads))
        # The vectors come from the first model that has vectors.
        self._vectors_of = next((n for n, model in enumerate(models) if model.has_vectors), None)
        self.has_vectors = self._vectors_of is not None
        self.has_attention = any(model.has_attention for model in models)
        self.tokens_at_once = min(model.tokens_at_once for model in models)
        self.rows_at_once = min(model.rows_at_once for model in models)

    def start(self, batch_size: int, source: Any = None) -> State:
        return tuple(model.start(batch_size, source) for model in self.models)

    def prepare_steps(self, rows: int) -> None:
        for model in self.models:
            model.prepare_steps(rows)

    def predict(self, state: State) -> torch.Tensor:
        return self.combine([m.predict(s) for m, s in zip(self.models, state, strict=True)])

    def read(self, ids: torch.Tensor, state: State) -> State:
        return tuple(m.read(ids, s) for m, s in zip(self.models, state, strict=True))

    def score(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        scored = [m.score(ids, s) for m, s in zip(self.models, state, strict=True)]
        return self.combine([log_probs for log_probs, _ in scored]), tuple(s for _, s in scored)

    def predict_all(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        done = [m.predict_all(ids, s) for m, s in zip(self.models, state, strict=True)]
        return self.combine([log_probs for log_probs, _ in done]), tuple(s for _, s in done)

    def score_and_mass(
        self, ids: torch.Tensor, state: State, members: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, State]:
        done = [m.score_and_mass(ids, s, members) for m, s in zip(self.models, state, strict=True)]
        scores, masses, states = zip(*done, strict=True)
        return self.combine([*scores]), self.combine([*masses]), tuple(states)

    def vector(self, state: State) -> torch.Tensor:
        assert self._vectors_of is not None, "no model of this mixture has hidden vectors"
        return self.models[self._vectors_of].vector(state[self._vectors_of])

    def score_and_vectors(
        self, ids: torch.Tensor, state: State
    ) -> tuple[torch.Tensor, torch.Tensor, State]:
        assert self._vectors_of is not None, "no model of this mixture has hidden vectors"
        log_probs, states = [], []
        for number, (model, inner) in enumerate(zip(self.models, state, strict=True)):
            if number == self._vectors_of:
                scores, vectors, after = model.score_and_vectors(ids, inner)
            else:
                scores, after = model.score(ids, inner)
            log_probs.append(scores)
            states.append(after)
        return self.combine(log_probs), vectors, tuple(states)

    def attention(self, state: State) -> tuple[torch.Tensor, torch.Tensor]:
        """The weighted average over the models with attention to a source."""
        parts = zip(self.models, self.weights, state, strict=True)
        looks = [(weight, *m.attention(s)) for m, weight, s in parts if m.has_attention]
        # if all their weights are zero, use equal weights
        shares = torch.tensor([weight for weight, _, _ in looks]).clamp(min=1e-30)
        shares = shares / shares.sum()
        stacked = torch.stack([weights for _, weights, _ in looks])
        return (shares.to(stacked)[:, None, None] * stacked).sum(0), looks[0][2]

    def parts(self) -> list[LanguageModel]:
        return self.models

    def combine(self, log_probs: list[torch.Tensor]) -> torch.Tensor:
        """Mix log probabilities, of tokens or of whole distributions."""
        stacked = torch.stack([part.double() for part in log_probs])
        weights = torch.tensor(self.weights, dtype=torch.float64).log()
        return torch.logsumexp(stacked + weights.view(-1, *[1] * (stacked.dim() - 1)), dim=0)

    def describe(self) -> dict[str, Any]:
        parts = [model.describe() for model in self.models]
        return {"model": "mixture", "weights": self.weights, "models": parts}


def mix(
    model: LanguageModel, other: LanguageModel, weight: float | None, around: FitContext
) -> Mixture:
    """Mix two models, with the given weight of the other or a weight fitted on validation text.

    If the model is already a mixture with fitted weights, all weights are fitted together, and so
    is the weight of a continuous cache that was fitted.
    """
    if weight is not None:
        return Mixture([model, other], [1 - weight, weight])
    parts = model.models if isinstance(model, Mixture) and model.fitted else [model]
    models = [*parts, other]
    even = [1 / len(models)] * len(models)
    Mixture(models, even)  # raises for incompatible models before the long work
    return _fit_together(models, around)


@runtime_checkable
class Blend(Protocol):
    """A model that is itself a mixture of two, whose weight was fitted."""

    def fitted_scores(self) -> np.ndarray | None:
        """Log probabilities of the validation text under both, (2, N); None: not fitted."""

    def reweighted(self, weight: float) -> LanguageModel:
        """The same with another weight of the second."""


def _fit_together(models: Sequence[LanguageModel], around: FitContext) -> Mixture:
    """Fit the weights of models, and of what they consist of."""
    inside = [_scores_of(model, around) for model in models]
    found = fit_weights(np.concatenate(inside))
    weights: list[float] = []
    fitted: list[LanguageModel] = []
    for model, log_probs in zip(models, inside, strict=True):
        own, found = found[: len(log_probs)], found[len(log_probs) :]
        weights.append(float(own.sum()))
        if isinstance(model, Blend) and len(own) == 2 and own.sum() > 0:
            share = float(own[1] / own.sum())
            fitted.append(model.reweighted(share))
            mixed = np.logaddexp(log_probs[0] + log(1 - share), log_probs[1] + log(share))
            around.remember(fitted[-1], mixed)
        else:
            fitted.append(model)
    return Mixture(fitted, weights, fitted=True)


def _scores_of(model: LanguageModel, around: FitContext) -> np.ndarray:
    """Log probabilities of the validation text, (1, N), or (2, N) of a blend."""
    scores = model.fitted_scores() if isinstance(model, Blend) else None
    return around.score_validation(model)[None] if scores is None else scores


def log(weight: float) -> float:
    """The logarithm of a weight, which may be zero."""
    return math.log(weight) if weight > 0 else -math.inf


ABOUT = "linear interpolation with another run; repeat it to mix several runs"


@dataclass(kw_only=True)
class Config:
    """Settings of the interpolation with another run."""

    run: str = ""  # folder of the other run
    weight: float | None = None  # weight of the other run; None: fitted on validation text

    def __post_init__(self) -> None:
        if not self.run:
            raise InputError("mix: name the other run, as in --with mix:run=FOLDER")
        if self.weight is not None and not 0 <= self.weight <= 1:
            raise InputError(f"mix: weight={self.weight} must be from 0 to 1")


def wrap(model: LanguageModel, config: Config, around: FitContext) -> Mixture:
    """Mix the model with the model of another run."""
    return mix(model, around.load_model(config.run), config.weight, around)
