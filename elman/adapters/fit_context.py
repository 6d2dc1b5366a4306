"""What lies around a model when an adapter is put on: texts to fit on, other runs, the tokenizer.

Made by the task that owns the model (`tasks/language_modelling/adapter_fitting.py`), asked by the
adapters. Scoring the validation text may take minutes, so it is done once for each model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from elman.errors import InputError
from elman.models.contract import LanguageModel


def _nothing(*asked: object) -> NoReturn:
    raise InputError("this adapter needs more than is known here")


@dataclass
class FitContext:
    """What an adapter may need besides a model and its settings."""

    score: Callable[[LanguageModel], np.ndarray]  # log probabilities of the validation text
    load_model: Callable[[str], LanguageModel]  # the model of another run, same tokenizer
    training_ids: Callable[[], np.ndarray] = _nothing  # the training text
    token_id: Callable[[str], int] = _nothing
    eos_id: int = 0
    progress: Callable[[int, int], None] = lambda tokens, of: None  # tokens done just now, of all
    _known: list[tuple[LanguageModel, np.ndarray]] = field(default_factory=list)

    def score_validation(self, model: LanguageModel) -> np.ndarray:
        """Log probabilities of the validation text's tokens."""
        for known, log_probs in self._known:
            if known is model:
                return log_probs
        return self.remember(model, self.score(model))

    def remember(self, model: LanguageModel, log_probs: np.ndarray) -> np.ndarray:
        """Keep a model's log probabilities of the validation text."""
        self._known.append((model, log_probs))
        return log_probs
