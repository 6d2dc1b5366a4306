"""Choosing what to say: ids out of a model, one at a time or as whole continuations.

Takes a language model, a state that has read the prompt, and DecodingOptions; gives ids. `sample`
streams rows drawn at random (or greedily), `beam_search` returns the likeliest continuations with
their scores. It sees the contract only, no kind of model and no text: the tasks above turn text
into ids and back, cut at stop sequences, and serve it. Torch is imported when first needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from elman.decoding.options import STRATEGIES, DecodingOptions

if TYPE_CHECKING:
    from elman.decoding.beam import Hypothesis, beam_search
    from elman.decoding.distribution import next_distribution
    from elman.decoding.sampling import sample
    from elman.decoding.transforms import TRANSFORMS

__all__ = [
    "STRATEGIES",
    "TRANSFORMS",
    "DecodingOptions",
    "Hypothesis",
    "beam_search",
    "next_distribution",
    "sample",
]

_NEEDS_TORCH = {
    "Hypothesis": "beam",
    "TRANSFORMS": "transforms",
    "beam_search": "beam",
    "next_distribution": "distribution",
    "sample": "sampling",
}


def __getattr__(name: str) -> Any:
    if name not in _NEEDS_TORCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_NEEDS_TORCH[name]}"), name)
