"""A model with a source and attention, small enough to enumerate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from elman.models.contract import LanguageModel

if TYPE_CHECKING:
    from elman.state import State


class SourceModel(LanguageModel):
    """A table for each first word of a source, (words, V + 1, V), that looks at places by its last
    id. The last row is for the beginning. A source is a tensor of words (B, S), -1 for padding.
    """

    has_attention = True

    def __init__(self, log_probs: torch.Tensor, looks: torch.Tensor) -> None:
        self.table = log_probs
        self.looks = looks  # (V + 1, S) how much is looked at each place after an id
        self.vocabulary_size = log_probs.shape[-1]
        self.predicted: list[int] = []  # rows of each call

    def start(self, batch_size: int, source: Any = None) -> State:
        return source, (torch.full((batch_size,), -1),)

    def predict(self, state: State) -> torch.Tensor:
        source, (last,) = state
        self.predicted.append(len(last))
        return self.table[source[:, 0], last]

    def read(self, ids: torch.Tensor, state: State) -> State:
        return state[0], (ids[:, -1],)

    def score(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        distributions, state = self.predict_all(ids, state)
        return distributions.gather(-1, ids.unsqueeze(-1)).squeeze(-1), state

    def attention(self, state: State) -> tuple[torch.Tensor, torch.Tensor]:
        source, (last,) = state
        real = source >= 0
        looks = self.looks[last][:, : source.shape[1]] * real
        return looks / looks.sum(1, keepdim=True), real


def draw_source_model(seed: int) -> SourceModel:
    """Random tables over five tokens, for sources of up to four of seven words."""
    generator = torch.Generator().manual_seed(seed)
    table = torch.log_softmax(2 * torch.randn(7, 6, 5, generator=generator), dim=-1)
    return SourceModel(table, torch.rand(6, 4, generator=generator))
