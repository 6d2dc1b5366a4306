"""Products with eight-bit weights: a quarter of the bytes, and integer arithmetic.

Each row of the matrix has a scale, and so has each row of values: scale · integer ≈ number. The
integers are multiplied and summed exactly, so a result depends on its own row of values alone. The
kernel (FBGEMM, inside PyTorch) takes values of seven bits. That is too coarse for hidden vectors,
so each row is given to it as two: the rounded values, and 126 times what rounding left. Together
they have fourteen bits.

    x / scale ≈ high + low / 126            high, low: integers from -63 to 63

For many rows and for small matrices, a float32 product of the same weights is faster, so their
numbers decide. On processors without FBGEMM, another kernel of PyTorch takes bfloat16 values.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from torch.nn.functional import pad

Linear = Callable[[torch.Tensor], torch.Tensor]
_MOST_INTEGERS = 24  # up to this many rows, the kernel is faster than float32
_MOST_BFLOAT16 = 15
_LEVELS = 63  # the largest integer of a value
_SECOND = 126.0  # the second integer counts in this part of the first
_SMALLEST = np.float32(1e-30)  # of a largest value: zeros have no scale
_FEWEST_WEIGHTS = 2_500_000  # a smaller matrix is read from the cache, as fast in float32
_BLOCK = 16  # inputs that the bfloat16 kernel reads at a time: 8 with AVX2, 16 with AVX-512


def linear_int8(
    weight: torch.Tensor, bias: torch.Tensor | None, make: Callable[[torch.Tensor, bool], Linear]
) -> Linear:
    """x -> x Wᵀ + b, with W rounded to eight bits.

    `make` prepares a product with unpacked weights and the bias, for one row or for several.
    """
    numbers, scales = quantise_rows(weight)
    kernel, most = _kernel_for(numbers, scales)
    unpacked: dict[bool, Linear] = {}  # made on demand, because it takes four times the memory

    def product(values: torch.Tensor) -> torch.Tensor:
        if len(values) <= most:
            result = kernel(values.float())
            return (result if bias is None else result.add_(bias)).to(values.dtype)
        several = len(values) > 1
        if several not in unpacked:
            unpacked[several] = make(numbers * scales[:, None], several)
        return unpacked[several](values.float()).to(values.dtype)

    return product


def _kernel_for(numbers: torch.Tensor, scales: torch.Tensor) -> tuple[Linear, int]:
    """A product with integers, and the largest number of rows for which it is worth its while."""
    if numbers.numel() < _FEWEST_WEIGHTS:
        return torch.neg, 0  # never called
    if has_integers():
        return _integer_product(numbers, scales), _MOST_INTEGERS
    return _bfloat16_product(numbers, scales), _MOST_BFLOAT16


def _integer_product(numbers: torch.Tensor, scales: torch.Tensor) -> Linear:
    # The kernel derives the scale of the values from their range. Two more columns, whose weights
    # are zero, fix the range to -64 … 63, so that the scale is 1 and integers stay what they are.
    packed = _packed(pad(numbers, (0, 2)), scales)
    width = numbers.shape[1]

    def product(values: torch.Tensor) -> torch.Tensor:
        rows = len(values)
        own = values.numpy()  # for few small arrays, numpy takes a third of the time of torch
        scale = np.maximum(np.abs(own).max(axis=1, keepdims=True), _SMALLEST) / _LEVELS
        both = np.empty((2, rows, width + 2), dtype=np.float32)
        both[..., width] = -(_LEVELS + 1)
        both[..., width + 1] = _LEVELS
        high, low = both[0, :, :width], both[1, :, :width]
        np.divide(own, scale, out=low)
        np.rint(low, out=high)
        low -= high
        low *= _SECOND
        np.rint(low, out=low)
        whole = torch.from_numpy(both.reshape(2 * rows, -1))
        result: torch.Tensor = torch.ops.quantized.linear_dynamic(whole, packed, True)
        return result[rows:].div_(_SECOND).add_(result[:rows]).mul_(torch.from_numpy(scale))

    return product


def _packed(numbers: torch.Tensor, scales: torch.Tensor) -> torch.ScriptObject:
    with warnings.catch_warnings():  # these tensors will move to another package
        warnings.simplefilter("ignore")
        weight = torch._make_per_channel_quantized_tensor(
            numbers.contiguous(), scales.double(), torch.zeros(len(scales), dtype=torch.long), 0
        )
        return torch.ops.quantized.linear_prepack(weight, None)


@cache
def has_integers() -> bool:
    """Whether the integer kernel exists and computes exact products of integers here."""
    numbers = torch.full((3, 37), 127, dtype=torch.int8)
    numbers[1] = -127
    values = torch.full((1, 37), float(_LEVELS))
    values[0, -2:] = torch.tensor([-(_LEVELS + 1.0), _LEVELS])
    try:
        found = torch.ops.quantized.linear_dynamic(values, _packed(numbers, torch.ones(3)), True)
    except (RuntimeError, AttributeError):
        return False
    return torch.equal(found, values @ numbers.float().t())


def _bfloat16_product(numbers: torch.Tensor, scales: torch.Tensor) -> Linear:
    """The kernel is slow with values and results that are not bfloat16."""
    # The kernel reads whole blocks. Where the last block of a row is not full, it reads beyond:
    # wrong sums, or a segmentation fault. Zeros fill the block and change nothing.
    missing = -numbers.shape[1] % _BLOCK
    numbers = pad(numbers, (0, missing)).contiguous()
    scales = scales.to(torch.bfloat16)
    return lambda values: torch._weight_int8pack_mm(
        pad(values.to(torch.bfloat16), (0, missing)).contiguous(), numbers, scales
    ).float()


def quantise_rows(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Integers from -127 to 127 and a scale per row, so that scale * integer ≈ weight."""
    weight = weight.detach().float()
    # The kernel takes scales of 16 bits; rounding them first lets the numbers make up for it.
    scales = (weight.abs().amax(dim=1).clamp(min=1e-12) / 127).to(torch.bfloat16).float()
    quantised = torch.round(weight / scales[:, None]).clamp(-127, 127).to(torch.int8)
    return quantised.contiguous(), scales
