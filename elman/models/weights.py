"""Weights of networks: saving and loading, 8-bit quantisation, and checking shapes before building.

Eight-bit weights take a quarter of the bytes on disk and less memory bandwidth per generated token.

A matrix W becomes integers from -127 to 127 and a scale per row (`quantise_rows`):

    W[i, j] ≈ scale[i] · number[i, j],      scale[i] = max_j |W[i, j]| / 127

Vectors (biases, gains) and counts are not quantised. `elman quantise` calls `pack`; loading calls
`unpack`. A quantised network reads whole texts with unpacked float weights; single steps, as in
generation, use the eight-bit weights (`prepare_steps`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from elman.cells.eight_bits import quantise_rows
from elman.cells.stepping import Way
from elman.errors import ElmanError, InputError
from elman.layers.outputs.output import Output
from elman.layers.recurrent import Recurrent

_SCALES = ".scales"


def pack(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Quantise every float matrix to eight bits and add its scales; keep the other arrays."""
    packed: dict[str, np.ndarray] = {}
    for name, array in arrays.items():
        if array.ndim == 2 and np.issubdtype(array.dtype, np.floating):
            numbers, scales = quantise_rows(torch.from_numpy(array))
            packed[name], packed[name + _SCALES] = numbers.numpy(), scales.numpy()
        else:
            packed[name] = array
    return packed


def is_packed(arrays: Mapping[str, np.ndarray]) -> bool:
    """Whether any of these arrays is quantised."""
    return any(name.endswith(_SCALES) for name in arrays)


def unpack(arrays: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
    """Restore the arrays of a network; arrays that are not quantised are returned unchanged."""
    if not is_packed(arrays):
        return arrays
    unpacked = {}
    for name, array in arrays.items():
        if name.endswith(_SCALES):
            continue
        scales = arrays.get(name + _SCALES)
        if scales is not None and scales.shape != array.shape[:1]:
            raise ValueError(f"{name} has {len(array)} rows, but {scales.size} scales")
        unpacked[name] = array if scales is None else array * scales[:, None]
    return unpacked


def prepare_steps(network: nn.Module, table: torch.Tensor | None, way: Way) -> None:
    """Prepare the products of single steps; `table`: the word vectors of a tied output."""
    for module in network.modules():
        if isinstance(module, Recurrent):
            module.prepare_steps(way)
        elif isinstance(module, Output):
            module.prepare_steps(way, table)


class NotFinite(ElmanError):
    """Weights with NaN or infinity, usually from a training that diverged."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} NaN or infinity: the training diverged; train again with a lower "
            "training.learning_rate"
        )


class Kept(nn.Module):
    """A module whose weights can be saved and loaded."""

    def arrays(self) -> dict[str, np.ndarray]:
        """All trained arrays, by name."""
        return {name: value.numpy(force=True) for name, value in self.state_dict().items()}

    def load_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Load arrays; every name and shape must match."""
        own, arrays = self.state_dict(), unpack(arrays)
        if own.keys() != arrays.keys():
            different = ", ".join(sorted(own.keys() ^ arrays.keys()))
            raise ValueError(f"the weights do not match the model: {different}")
        for name, value in own.items():
            if value.shape != arrays[name].shape:
                raise ValueError(f"{name} is {arrays[name].shape}, not {tuple(value.shape)}")
            if not np.isfinite(arrays[name]).all():
                raise NotFinite(f"the weights {name} hold")
            value.copy_(torch.from_numpy(arrays[name]))

    def count_parameters(self) -> int:
        """The number of parameters."""
        return sum(parameter.numel() for parameter in self.parameters())


Shapes = dict[str, tuple[int, ...]]
_MOST_OPERATIONS = 20_000  # of building; the deepest recipe needs some hundreds


class _Counted(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Stop building a model with far too many parts, such as a million layers."""

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
    """A model with shapes but no values; None if it cannot be built that way.

    It is built on the torch device `meta`, where tensors have no storage. Settings that need
    terabytes cost nothing there, and the shapes of a run folder can be checked before loading.
    """
    try:
        with torch.random.fork_rng(devices=[]), torch.device("meta"), _Counted():
            return build()
    except (RuntimeError, TypeError, OverflowError) as error:
        if "overflow" in str(error).lower():
            raise InputError("the model is too large for any machine; lower its sizes") from None
        if isinstance(error, RuntimeError):  # a part computes with its values while it is built
            return None
        raise


def compare_shapes(model: nn.Module, found: Mapping[str, tuple[int, ...]]) -> None:
    """Raise a ValueError if these shapes do not match those of a model."""
    own = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    names = {name for name in found if not name.endswith(_SCALES)}
    if own.keys() != names:
        different = sorted(own.keys() ^ names)
        more = f" and {len(different) - 3:,} more" if len(different) > 3 else ""
        raise ValueError(f"the weights do not match the model: {', '.join(different[:3])}{more}")
    for name, shape in own.items():
        if found[name] != shape:
            raise ValueError(f"{name} is {found[name]} in the file, but {shape} in the settings")


def check_counts(counts: torch.Tensor) -> torch.Tensor:
    """The token counts (V,); raise a ValueError if they are invalid."""
    right = counts.dtype == torch.int64 and counts.dim() == 1 and len(counts) > 0
    if not right or int(counts.min()) < 0 or int(counts.max()) > 2**62 // len(counts):
        raise ValueError("the token counts are invalid")
    return counts
