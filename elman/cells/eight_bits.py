"""Products with eight-bit weights: a quarter of the bytes, and integer arithmetic.

Each row of the matrix has a scale, and so has each row of values: scale · integer ≈ number. The
integers are multiplied and summed exactly, so a result depends on its own row of values alone. The
kernel (FBGEMM, inside PyTorch) takes values of seven bits. That is too coarse for hidden vectors,
so each row is given to it as two: the rounded values, and 126 times what rounding left. Together
they have fourteen bits.

    x / scale ≈ high + low / 126            high, low: integers from -63 to 63

For many rows, a float32 product of the same weights is faster, so the number of rows decides. On
processors without FBGEMM, another kernel of PyTorch takes bfloat16 values.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache

import torch
from torch.nn.functional import pad

Linear = Callable[[torch.Tensor], torch.Tensor]
_MOST_INTEGERS = 24  # up to this many rows, the kernel is faster than float32
_MOST_BFLOAT16 = 15
_LEVELS = 63  # the largest integer of a value
_SECOND = 126.0  # the second integer counts in this part of the first
_BLOCK = 16  # inputs that the bfloat16 kernel reads at a time: 8 with AVX2, 16 with AVX-512


def linear_int8(
    weight: torch.Tensor, bias: torch.Tensor | None, make: Callable[[torch.Tensor], Linear]
) -> Linear:
    """x -> x Wᵀ + b, with W rounded to eight bits; `make` prepares products in float32."""
    numbers, scales = quantise_rows(weight)
    few = (_integer_product if has_integers() else _bfloat16_product)(numbers, scales)
    most = _MOST_INTEGERS if has_integers() else _MOST_BFLOAT16
    many: list[Linear] = []  # made for many rows only, because it takes four times the memory

    def product(values: torch.Tensor) -> torch.Tensor:
        if len(values) <= most:
            result = few(values.float())
            return (result if bias is None else result.add_(bias)).to(values.dtype)
        if not many:
            many.append(make(numbers * scales[:, None]))
        return many[0](values.float()).to(values.dtype)

    return product


def _integer_product(numbers: torch.Tensor, scales: torch.Tensor) -> Linear:
    # The kernel derives the scale of the values from their range. Two more columns, whose weights
    # are zero, fix the range to -64 … 63, so that the scale is 1 and integers stay what they are.
    packed = _packed(pad(numbers, (0, 2)), scales)
    ends = torch.tensor([-(_LEVELS + 1.0), _LEVELS])

    def product(values: torch.Tensor) -> torch.Tensor:
        rows = len(values)
        scale = values.abs().amax(1, keepdim=True).clamp_(min=1e-30).div_(_LEVELS)
        whole = values / scale
        high = whole.round()
        both = torch.empty(2 * rows, values.shape[1] + 2)
        both[:, -2:] = ends
        both[:rows, :-2] = high
        both[rows:, :-2] = whole.sub_(high).mul_(_SECOND).round_()
        result = torch.ops.quantized.linear_dynamic(both, packed, True)
        return result[rows:].div_(_SECOND).add_(result[:rows]).mul_(scale)

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
