"""Weights of eight bits: a quarter of the bytes on disk, and less to read per generated token.

A matrix W becomes whole numbers from -127 to 127 and a scale per row (`quantise_rows`):

    W[i, j] ≈ scale[i] · number[i, j],      scale[i] = max_j |W[i, j]| / 127

Vectors (biases, gains) and counts stay as they are. `pack` is called by `elman quantise`, `unpack`
by whatever loads weights. A network whose weights came in eight bits computes whole texts with the
unpacked numbers; single steps, as in generating, multiply by the eight bits (`step_in_eight_bits`).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import nn

from elman.cells.stepping import quantise_rows
from elman.layers.outputs.output import SoftmaxOutput
from elman.layers.recurrent import Recurrent

_SCALES = ".scales"


def pack(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same arrays, every matrix of real numbers in eight bits, with its scales beside it."""
    packed: dict[str, np.ndarray] = {}
    for name, array in arrays.items():
        if array.ndim == 2 and np.issubdtype(array.dtype, np.floating):
            numbers, scales = quantise_rows(torch.from_numpy(array))
            packed[name], packed[name + _SCALES] = numbers.numpy(), scales.numpy()
        else:
            packed[name] = array
    return packed


def is_packed(arrays: Mapping[str, np.ndarray]) -> bool:
    """Whether any of these are in eight bits."""
    return any(name.endswith(_SCALES) for name in arrays)


def unpack(arrays: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
    """The arrays as a network has them; those that are not packed are given back untouched."""
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


def step_in_eight_bits(network: nn.Module, table: torch.Tensor | None) -> None:
    """Let single steps use eight-bit products; `table`: the word vectors, if the output is tied."""
    for module in network.modules():
        if isinstance(module, Recurrent):
            module.step_in_eight_bits()
        elif isinstance(module, SoftmaxOutput):
            module.step_in_eight_bits(table)
