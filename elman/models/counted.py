"""The common part of count models: the last few ids are the state, and arrays hold the rest.

A state is the last `reach` ids of each row, (B, reach), with -1 for positions not filled. The
initial state is the start of a line, so its last id is `<eos>`.

torch is imported only when the contract is first used: fitting and saving use numpy alone, and
importing torch takes longer than training an n-gram model on the Penn Treebank.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from elman.counts.resources import Need
from elman.counts.tables import NOTHING
from elman.models.contract import LanguageModel

if TYPE_CHECKING:
    import torch


class CountedModel(LanguageModel):
    """A language model that looks up the last few words in arrays."""

    task: ClassVar[str] = "counting"
    counts_on_disk: ClassVar[bool] = False  # whether a text may be larger than memory
    config: Any
    tokens_at_once = 1 << 17
    rows_at_once = 256

    def __init__(self, config: Any, *, vocabulary_size: int, eos_id: int, reach: int) -> None:
        self.config = config
        self.vocabulary_size = vocabulary_size
        self.eos_id = eos_id
        self.horizon = self.context_size = reach
        self.resets_at_lines = config.context == "line"
        self.start_context = np.full(reach, NOTHING)
        self.start_context[-1] = eos_id

    @abstractmethod
    def score_rows(self, rows: np.ndarray) -> np.ndarray:
        """Log probabilities of the words after the context at the start of each row."""

    @abstractmethod
    def predict_rows(self, contexts: np.ndarray) -> np.ndarray:
        """Log probabilities of all words after each context, (B, reach) -> (B, V)."""

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """All trained arrays, by name."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Everything except the arrays that a run folder needs, as plain data."""

    @classmethod
    @abstractmethod
    def training_rows(cls, facts: Mapping[str, Any]) -> tuple[list[str], list[list[Any]]]:
        """A table that describes a training by its facts: header and rows."""

    @classmethod
    @abstractmethod
    def orders(cls, config: Any) -> int:
        """How many orders of n-grams take as much memory as this model while it is trained."""

    @classmethod
    @abstractmethod
    def need(cls, ids: np.ndarray, config: Any, *, eos_id: int, tokens: int | None = None) -> Need:
        """The disk space for a text (of `tokens` tokens, if the ids are a sample)."""

    def log_probs(self, ids: np.ndarray) -> np.ndarray:
        """Log probability of every id of a text from the initial state, without torch."""
        rows = np.concatenate([self.start_context, ids])[None]
        log_probs: np.ndarray = self.score_rows(rows)[0]
        return log_probs

    # The contract ---------------------------------------------------------------------------------

    def start(self, batch_size: int, source: Any = None) -> torch.Tensor:
        return tensor(np.tile(self.start_context, (batch_size, 1)))

    def predict(self, state: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return tensor(self.predict_rows(state.numpy()))

    def read(self, ids: torch.Tensor, state: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return tensor(rows_of(state, ids)[:, ids.shape[1] :])

    def score(  # type: ignore[override]
        self, ids: torch.Tensor, state: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        log_probs = self.score_rows(rows_of(state, ids))
        return tensor(np.ascontiguousarray(log_probs)), self.read(ids, state)

    def predict_all(  # type: ignore[override]
        self, ids: torch.Tensor, state: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        rows = tensor(rows_of(state, ids))
        contexts = rows.unfold(1, self.context_size, 1)[:, :-1]  # (B, T, context)
        log_probs = self.predict(contexts.reshape(-1, self.context_size))
        return log_probs.view(*ids.shape, self.vocabulary_size), self.read(ids, state)


def rows_of(state: torch.Tensor, ids: torch.Tensor) -> np.ndarray:
    """The context of each row and the ids after it, (B, reach + T)."""
    return np.concatenate([state.numpy(), ids.numpy()], axis=1)


def tensor(array: np.ndarray) -> torch.Tensor:
    """The array as a tensor, without copying it."""
    import torch

    return torch.from_numpy(array)
