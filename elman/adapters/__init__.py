"""Language models around language models; each keeps the contract.

Takes a model and settings written as `name:key=value,…`, gives a model. What an adapter may need
besides, validation text to fit its weights or another run, it asks of the `FitContext`.

Each is a file that has `ABOUT`, the dataclass of its settings as `Config`, and
`wrap(model, config, around)`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from elman.adapters.fit_context import FitContext
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
    """The model with adapters around it, as written: `cache`, `cache:decay=0.02,window=500`.

    The first is the innermost; but those that change how the model itself computes (`INNERMOST`)
    go around it directly, wherever they are written.
    """
    chosen = [_read(adapter) for adapter in written]
    for module, config in sorted(chosen, key=_is_outer):
        model = module.wrap(model, config, around)
    return model


def _read(written: str) -> tuple[Any, Any]:
    """An adapter's file and its settings."""
    name, _, settings = written.partition(":")
    module = ADAPTERS.choose(name)
    words = [word for word in settings.split(",") if word]
    if not all("=" in word for word in words):
        raise InputError(f"{written}: write settings as {name}:key=value,key=value")
    return module, build(module.Config, apply_overrides({}, words), name)


def _is_outer(adapter: tuple[Any, Any]) -> bool:
    return not getattr(adapter[0], "INNERMOST", False)
