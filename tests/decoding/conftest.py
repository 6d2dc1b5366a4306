"""A language model small enough to enumerate: a table of six tokens that remembers the last two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest
import torch
from source_model import SourceModel, draw_source_model

from elman.models.contract import LanguageModel

if TYPE_CHECKING:
    from elman.state import State


class TableModel(LanguageModel):
    """log P(next | the two last tokens), (V, V, V); it notes how many rows each call had."""

    def __init__(self, log_probs: torch.Tensor) -> None:
        self.table = log_probs
        self.vocabulary_size = log_probs.shape[-1]
        self.predicted: list[int] = []
        self.read_rows: list[int] = []
        self.gradients_were_on = False

    def start(self, batch_size: int, source: Any = None) -> State:
        nothing = torch.zeros(batch_size, dtype=torch.long)
        return nothing, (nothing,)  # nested on purpose: selecting rows has to reach every part

    def predict(self, state: State) -> torch.Tensor:
        before, (last,) = state
        self.predicted.append(len(last))
        self.gradients_were_on |= torch.is_grad_enabled()
        return self.table[before, last]

    def read(self, ids: torch.Tensor, state: State) -> State:
        before, (last,) = state
        self.read_rows.append(len(last))
        self.gradients_were_on |= torch.is_grad_enabled()
        for column in ids.T:
            before, last = last, column
        return before, (last,)

    def score(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        distributions, state = self.predict_all(ids, state)
        return distributions.gather(-1, ids.unsqueeze(-1)).squeeze(-1), state


@pytest.fixture
def source_model() -> SourceModel:
    """Fixed random tables over five tokens, for sources of seven words."""
    return draw_source_model(seed=3)


@pytest.fixture
def table_model() -> TableModel:
    """A fixed random table over six tokens."""
    generator = torch.Generator().manual_seed(7)
    return TableModel(torch.log_softmax(2 * torch.randn(6, 6, 6, generator=generator), dim=-1))


@pytest.fixture
def constant_model() -> Callable[[Sequence[float]], TableModel]:
    """Builds a model that gives the same probabilities whatever it has read."""

    def build(probs: Sequence[float]) -> TableModel:
        size = len(probs)
        return TableModel(torch.tensor(probs, dtype=torch.float64).log().expand(size, size, size))

    return build


@pytest.fixture
def bigram_model() -> Callable[[Sequence[Sequence[float]]], TableModel]:
    """Builds a model from one row of probabilities for each last token; the start is token 0."""

    def build(rows: Sequence[Sequence[float]]) -> TableModel:
        size = len(rows)
        table = torch.tensor(rows, dtype=torch.float64).log()  # (V, V)
        return TableModel(table.unsqueeze(0).expand(size, size, size))

    return build
