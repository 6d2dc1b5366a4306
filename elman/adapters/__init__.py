"""Language models around language models; each keeps the contract.

Takes a model and settings written as `name:key=value,…`, gives a model. What an adapter may need
besides, validation text to fit its weights or another run, it asks of the `Surroundings`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from elman.adapters.cache import CacheConfig, UnigramCache
from elman.adapters.mixture import Mixture, fit_weights
from elman.config import apply_overrides, build
from elman.errors import InputError, choose
from elman.models.contract import LanguageModel


@dataclass
class Surroundings:
    """What lies around a model when an adapter is put on."""

    score_validation: Callable[[LanguageModel], np.ndarray]  # log probabilities of its tokens
    load_model: Callable[[str], LanguageModel]  # the model of another run, same tokenizer


@dataclass(kw_only=True)
class MixConfig:
    """Interpolation with another run."""

    run: str = ""  # folder of the other run
    weight: float | None = None  # of the other run; None: fitted on validation text

    def __post_init__(self) -> None:
        if not self.run:
            raise InputError("mix: name the other run, as in --with mix:run=FOLDER")
        if self.weight is not None and not 0 <= self.weight <= 1:
            raise InputError(f"mix: weight={self.weight} must be from 0 to 1")


def _with_cache(model: LanguageModel, config: CacheConfig, around: Surroundings) -> Mixture:
    cache = UnigramCache(model.vocabulary_size, config)
    return _mix(model, cache, config.weight, around)


def _with_run(model: LanguageModel, config: MixConfig, around: Surroundings) -> Mixture:
    return _mix(model, around.load_model(config.run), config.weight, around)


def _mix(
    model: LanguageModel, other: LanguageModel, weight: float | None, around: Surroundings
) -> Mixture:
    if weight is None:
        Mixture([model, other], [0.5, 0.5])  # refuses what cannot be mixed before the long work
        log_probs = np.stack([around.score_validation(part) for part in (model, other)])
        weight = float(fit_weights(log_probs)[1])
    return Mixture([model, other], [1 - weight, weight])


@dataclass(frozen=True)
class Adapter:
    """How an adapter is configured and put on."""

    config_class: type
    wrap: Callable[[LanguageModel, Any, Surroundings], LanguageModel]
    about: str


ADAPTERS = {
    "cache": Adapter(CacheConfig, _with_cache, "words of the recent past come again"),
    "mix": Adapter(MixConfig, _with_run, "linear interpolation with another run"),
}


def adapt(model: LanguageModel, written: str, around: Surroundings) -> LanguageModel:
    """The model with an adapter around it, as written: `cache` or `cache:decay=0.02,window=500`."""
    name, _, settings = written.partition(":")
    adapter = choose(ADAPTERS, name, "adapter")
    words = [word for word in settings.split(",") if word]
    if not all("=" in word for word in words):
        raise InputError(f"{written}: write settings as {name}:key=value,key=value")
    config = build(adapter.config_class, apply_overrides({}, words), name)
    return adapter.wrap(model, config, around)
