"""Adapters: language models that wrap a language model and keep its contract.

Takes a model and settings written as `name:key=value,…`, gives a model. An adapter may also need
validation text to fit its weights, or another run; it gets them from the `FitContext`.

Each adapter is a file with `ABOUT`, the dataclass of its settings as `Config`, and
`wrap(model, config, around)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from elman.config import apply_overrides, build
from elman.errors import InputError
from elman.models.contract import LanguageModel
from elman.registry import Registry

ADAPTERS = Registry(
    "adapter",
    {
        "cache": "elman.adapters.cache",
        "continuous-cache": "elman.adapters.continuous_cache",
        "dynamic": "elman.adapters.dynamic",
        "documents": "elman.adapters.documents",
        "mix": "elman.adapters.mixture",
        "monte-carlo": "elman.adapters.monte_carlo",
        "temperature": "elman.adapters.temperature",
    },
    group="adapters",
)


def adapt(model: LanguageModel, written: Iterable[str], around: FitContext) -> LanguageModel:
    """Wrap the model in adapters, given as `cache` or `cache:decay=0.02,window=500`.

    The first is the innermost. Adapters that change how the model itself computes (`INNERMOST`)
    always wrap it directly, at any position of the list.
    """
    chosen = [_read(adapter) for adapter in written]
    for module, config in sorted(chosen, key=lambda one: not getattr(one[0], "INNERMOST", False)):
        model = module.wrap(model, config, around)
    return model


def _read(written: str) -> tuple[Any, Any]:
    """The module of an adapter and its settings."""
    name, _, settings = written.partition(":")
    module = ADAPTERS.choose(name)
    words = [word for word in settings.split(",") if word]
    if not all("=" in word for word in words):
        raise InputError(f"{written}: write settings as {name}:key=value,key=value")
    return module, build(module.Config, apply_overrides({}, words), name)


def _nothing(*asked: object) -> NoReturn:
    raise InputError("this adapter needs more than is known here")


@dataclass
class FitContext:
    """Resources that adapters may need to fit their settings: texts and other runs.

    Made by the task that owns the model (`tasks/language_modelling/adapter_fitting.py`) and used by
    the adapters. Scoring the validation text may take minutes, so it is done once per model.
    """

    score: Callable[[LanguageModel], np.ndarray]  # log probabilities of the validation text
    load_model: Callable[[str], LanguageModel]  # the model of another run, same tokenizer
    training_ids: Callable[[], np.ndarray] = _nothing  # the training text
    token_id: Callable[[str], int] = _nothing
    eos_id: int = 0
    progress: Callable[[int, int], None] = lambda tokens, of: None  # tokens done now, all tokens
    _known: list[tuple[LanguageModel, np.ndarray]] = field(default_factory=list)

    def score_validation(self, model: LanguageModel) -> np.ndarray:
        """Log probabilities of the tokens of the validation text."""
        for known, log_probs in self._known:
            if known is model:
                return log_probs
        return self.remember(model, self.score(model))

    def remember(self, model: LanguageModel, log_probs: np.ndarray) -> np.ndarray:
        """Cache the log probabilities of the validation text under a model."""
        self._known.append((model, log_probs))
        return log_probs
