"""Monte-Carlo dropout: the average of many networks with fixed masks (Gal and Ghahramani 2016).

    p(w) = 1/K Σ_k p(w | network k)

The dropout of the training draws each network. Its masks stay fixed for the whole text, so each of
the K networks reads the whole text with its own state. The networks depend only on the seed.
Zoneout has no masks that could stay fixed; it uses its expectation.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from elman.adapters import FitContext
from elman.adapters.wrapper import Wrapper
from elman.errors import InputError
from elman.layers.dropout import one_network
from elman.models.contract import LanguageModel
from elman.models.neural import NeuralModel
from elman.state import State

ABOUT = "averages several dropout samples of the network (Gal and Ghahramani 2016)"
INNERMOST = True

Result = TypeVar("Result")

_APART = 1_000_003  # so that two seeds have no network in common


@dataclass(kw_only=True)
class Config:
    """Monte-Carlo dropout."""

    samples: int = 20  # number of networks
    seed: int = 0  # random seed of the dropout masks

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise InputError(f"monte-carlo: samples={self.samples} must be at least 1")


def wrap(model: LanguageModel, config: Config, around: FitContext) -> MonteCarlo:
    """Average several dropout samples of the model."""
    if not isinstance(model, NeuralModel):
        raise InputError("monte-carlo: needs a neural run; count models have no dropout")
    return MonteCarlo(model, config.samples, config.seed)


class MonteCarlo(Wrapper):
    """The average of several dropout samples of a network."""

    def __init__(self, model: NeuralModel, samples: int, seed: int) -> None:
        super().__init__(model)
        self.has_vectors = False  # each network has its own
        self.samples = samples
        self.seed = seed
        self._thinned = copy.deepcopy(model).train().requires_grad_(False)

    def start(self, batch_size: int, source: Any = None) -> State:
        nothing: State = (None,) * self.samples  # type: ignore[assignment]
        return tuple(self._each(lambda _: self._thinned.start(batch_size, source), nothing))

    def predict(self, state: State) -> torch.Tensor:
        return _average(self._each(self._thinned.predict, state))

    def read(self, ids: torch.Tensor, state: State) -> State:
        return tuple(self._each(lambda inner: self._thinned.read(ids, inner), state))

    def score(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        scored = self._each(lambda inner: self._thinned.score(ids, inner), state)
        return _average([log_probs for log_probs, _ in scored]), tuple(s for _, s in scored)

    def predict_all(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        done = self._each(lambda inner: self._thinned.predict_all(ids, inner), state)
        return _average([log_probs for log_probs, _ in done]), tuple(s for _, s in done)

    def attention(self, state: State) -> tuple[torch.Tensor, torch.Tensor]:
        each = self._each(self._thinned.attention, state)
        return torch.stack([weights for weights, _ in each]).mean(0), each[0][1]

    def _each(self, act: Callable[[State], Result], states: State) -> list[Result]:
        """Apply each network to its own state."""
        results = []
        for sample, state in enumerate(states):
            with one_network(self.seed * _APART + sample):
                results.append(act(state))
        return results

    def settings(self) -> dict[str, Any]:
        return {"samples": self.samples, "seed": self.seed}


def _average(log_probs: list[torch.Tensor]) -> torch.Tensor:
    stacked = torch.stack([part.double() for part in log_probs])
    return stacked.logsumexp(0) - math.log(len(log_probs))
