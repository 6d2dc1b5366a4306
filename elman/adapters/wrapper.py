"""The base class of adapters that wrap one model: everything is delegated to the model.

A subclass overrides `predict` and `score`, and reports its numbers in `settings`. A subclass with
its own state overrides the other methods too.
"""

from __future__ import annotations

from typing import Any

import torch

from elman.errors import InputError
from elman.models.contract import LanguageModel
from elman.state import State


def require_distributions(model: LanguageModel) -> None:
    """Raise if a model has no distribution after some contexts."""
    if not model.always_defined:
        raise InputError(
            "an unsmoothed count model (maximum-likelihood) gives no distribution after unseen "
            "contexts, so it cannot be adapted or mixed; train one with a smoother "
            "(elman list smoothers)"
        )


class Wrapper(LanguageModel):
    """A model that wraps a model. By itself it changes nothing and uses the state of the model."""

    def __init__(self, model: LanguageModel) -> None:
        require_distributions(model)
        self.model = model
        self.vocabulary_size = model.vocabulary_size
        self.horizon = model.horizon
        self.resets_at_lines = model.resets_at_lines
        self.reads = model.reads
        self.has_vectors = model.has_vectors
        self.has_attention = model.has_attention

    @property
    def models(self) -> list[LanguageModel]:
        """The wrapped models."""
        return [self.model]

    def start(self, batch_size: int, source: Any = None) -> State:
        return self.model.start(batch_size, source)

    def predict(self, state: State) -> torch.Tensor:
        return self.model.predict(state)

    def read(self, ids: torch.Tensor, state: State) -> State:
        return self.model.read(ids, state)

    def prepare_steps(self, rows: int) -> None:
        self.model.prepare_steps(rows)

    def score(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        return self.model.score(ids, state)

    def vector(self, state: State) -> torch.Tensor:
        return self.model.vector(state)

    def score_and_vectors(
        self, ids: torch.Tensor, state: State
    ) -> tuple[torch.Tensor, torch.Tensor, State]:
        # The text is read twice: for the scores of this adapter and the vectors of its model.
        _, vectors, _ = self.model.score_and_vectors(ids, state)
        scores, after = self.score(ids, state)
        return scores, vectors, after

    def attention(self, state: State) -> tuple[torch.Tensor, torch.Tensor]:
        return self.model.attention(state)

    def describe(self) -> dict[str, Any]:
        name = type(self).__module__.rpartition(".")[2].replace("_", "-")  # as ADAPTERS has it
        return {"model": name, **self.settings(), "around": self.model.describe()}

    def settings(self) -> dict[str, Any]:
        """The given or fitted settings, as plain data."""
        return {}
