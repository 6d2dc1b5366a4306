"""The shapes of a model's weights, and the memory of a training, before anything is built.

A model is made on torch's device `meta`, where tensors have shapes and no numbers. So settings that
ask for terabytes cost nothing, and those of a run folder can be compared with its file first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from elman.errors import InputError

Shapes = dict[str, tuple[int, ...]]
_MOST_OPERATIONS = 20_000  # of building; our deepest model takes some hundreds
_SCALES = ".scales"  # of weights in eight bits


class _Counted(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Ends what would go on for ever, like a million layers."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._operations = 0

    def __torch_dispatch__(
        self, operation: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self._operations += 1
        if self._operations > _MOST_OPERATIONS:
            raise InputError("the model has too many parts; lower its number of layers")
        return operation(*args, **(kwargs or {}))


def outline(build: Callable[[], nn.Module]) -> nn.Module | None:
    """A model without numbers; None if it cannot be built without them."""
    try:
        with torch.random.fork_rng(devices=[]), torch.device("meta"), _Counted():
            return build()
    except (RuntimeError, TypeError, OverflowError) as error:
        if "overflow" in str(error).lower():
            raise InputError("the model is too large for any machine; lower its sizes") from None
        if isinstance(error, RuntimeError):  # a part that computes with its numbers at once
            return None
        raise


def compare_shapes(model: nn.Module, found: Mapping[str, tuple[int, ...]]) -> None:
    """A ValueError if arrays of these shapes are not those of a model."""
    own = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    names = {name for name in found if not name.endswith(_SCALES)}
    if own.keys() != names:
        different = sorted(own.keys() ^ names)
        more = f" and {len(different) - 3:,} more" if len(different) > 3 else ""
        raise ValueError(f"these weights are not the model's: {', '.join(different[:3])}{more}")
    for name, shape in own.items():
        if found[name] != shape:
            raise ValueError(f"{name} is {found[name]} in the file, but {shape} in the settings")


def check_counts(counts: torch.Tensor) -> torch.Tensor:
    """Counts of the tokens (V,), or a ValueError if they are something else."""
    right = counts.dtype == torch.int64 and counts.dim() == 1 and len(counts) > 0
    if not right or int(counts.min()) < 0 or int(counts.max()) > 2**62 // len(counts):
        raise ValueError("the counts of the tokens are not counts")
    return counts
