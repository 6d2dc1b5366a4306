"""Fast single steps for generating text, where every token depends on the previous one.

Takes a cell and its weights once, then inputs (B, input_size) and a state per step. At batch 1 a
step reads every weight once and does two operations with it, so memory bandwidth is the limit. The
speed-ups are: one product [W U] [x; v] instead of two, no preparation per call, and, on request,
eight-bit weights (a scale per row), a quarter of the bytes.

The fused kernels for whole sequences do not help here: PyTorch 2.13 packs the weights again at
every call.

Eight-bit weights are faster for few rows; for many rows, a float32 product of the same numbers is
faster, so the number of rows decides. Both round in the same way (inputs and results to bfloat16,
sums in float32), so a row hardly depends on the other rows: occasionally a result is rounded the
other way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import torch
from torch.nn.functional import pad

from elman.cells.cell import Cell, Product, States, Weights

Linear = Callable[[torch.Tensor], torch.Tensor]
Made = TypeVar("Made")
_FEW_ROWS = 15  # up to this many rows, the eight-bit kernel is faster
_BLOCK = 16  # inputs that the eight-bit kernel reads at a time: 8 with AVX2, 16 with AVX-512


def linear(weight: torch.Tensor, bias: torch.Tensor | None, int8: bool = False) -> Linear:
    """x -> x Wᵀ + b, for weights that will not change."""
    return _linear_int8(weight, bias) if int8 else _linear_float(weight, bias)


def _linear_float(weight: torch.Tensor, bias: torch.Tensor | None) -> Linear:
    # Laid out by columns: with one row of values, both cores then read it at full speed.
    columns = weight.detach().t().contiguous()
    if bias is None:
        return lambda values: values @ columns
    bias = bias.detach()
    return lambda values: torch.addmm(bias, values, columns)


def _linear_int8(weight: torch.Tensor, bias: torch.Tensor | None) -> Linear:
    numbers, scales = quantise_rows(weight)
    by_kernel = _kernel_product(numbers, scales)
    by_floats: list[Linear] = []  # made for many rows only, because it takes four times the memory
    bias = None if bias is None else bias.detach()

    def product(values: torch.Tensor) -> torch.Tensor:
        rounded = values.to(torch.bfloat16)
        if len(values) <= _FEW_ROWS:
            result = by_kernel(rounded)
        else:
            if not by_floats:
                by_floats.append(_linear_float(numbers * scales[:, None], None))
            result = by_floats[0](rounded.float()).to(torch.bfloat16)
        result = result.to(values.dtype)
        return result if bias is None else result + bias

    return product


def _kernel_product(numbers: torch.Tensor, scales: torch.Tensor) -> Linear:
    """Of values and results in bfloat16: the kernel is slow with others."""
    # The kernel reads whole blocks. Where the last block of a row is not full, it reads beyond:
    # wrong sums, or a segmentation fault. Zeros fill the block and change nothing.
    missing = -numbers.shape[1] % _BLOCK
    numbers = pad(numbers, (0, missing)).contiguous()
    scales = scales.to(torch.bfloat16)
    return lambda values: torch._weight_int8pack_mm(
        pad(values, (0, missing)).contiguous(), numbers, scales
    )


def quantise_rows(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Integers from -127 to 127 and a scale per row, so that scale * integer ≈ weight."""
    weight = weight.detach().float()
    # The kernel takes scales of 16 bits; rounding them first lets the numbers make up for it.
    scales = (weight.abs().amax(dim=1).clamp(min=1e-12) / 127).to(torch.bfloat16).float()
    quantised = torch.round(weight / scales[:, None]).clamp(-127, 127).to(torch.int8)
    return quantised.contiguous(), scales


class Frozen(Generic[Made]):
    """A cache of weights that were prepared for single steps, valid while the weights are the same.

    A copy of a model, or a model in training, has other weights; then the cache is empty.
    """

    def __init__(self, made: Made, *weights: torch.Tensor) -> None:
        self._made = made
        self._from = _marks(weights)

    def of(self, *weights: torch.Tensor) -> Made | None:
        """The prepared form of exactly these weights; None while gradients are enabled."""
        if torch.is_grad_enabled() or _marks(weights) != self._from:
            return None
        return self._made


def _marks(weights: tuple[torch.Tensor, ...]) -> list[tuple[int, int]]:
    """The memory addresses and version counters of the weights."""
    return [(weight.data_ptr(), weight._version) for weight in weights]


class Stepper:
    """A cell with a copy of its weights, prepared for single steps."""

    def __init__(self, cell: Cell, weights: Weights, *, int8: bool = False) -> None:
        self.cell = cell
        self._weights = {name: weight.detach().clone() for name, weight in weights.items()}
        self._products: dict[str, Linear] = {}
        self._input_parts: dict[str, Linear] = {}
        for name, product in cell.products.items():
            self._prepare(name, product, int8)
        self.inputs = torch.empty(0)

    def step(self, inputs: torch.Tensor, state: States) -> States:
        """The state after one more input, (B, input_size)."""
        self.inputs = inputs
        return self.cell.step(self, state)

    def product(self, name: str, state: torch.Tensor | None = None) -> torch.Tensor:
        product = self._products[name]
        if state is None:
            return product(self.inputs)
        if name in self._input_parts:  # W feeds some of the rows only
            part = self._input_parts[name](self.inputs)
            whole = product(state)
            whole[:, : part.shape[1]] += part
            return whole
        fed = self.cell.products[name].input_rows > 0
        return product(torch.cat([self.inputs, state], dim=1) if fed else state)

    def weight(self, name: str) -> torch.Tensor:
        return self._weights[name]

    def record(self, **values: torch.Tensor) -> None:
        """Do nothing: single steps have no trace."""

    def _prepare(self, name: str, product: Product, int8: bool) -> None:
        weights = self._weights
        bias = self.cell.bias(name, weights)
        if product.input_rows and product.input_rows < product.rows and product.state_size:
            self._input_parts[name] = linear(weights[f"{name}_input"], None, int8)
            self._products[name] = linear(weights[f"{name}_state"], bias, int8)
            return
        parts = [weights[n] for n in (f"{name}_input", f"{name}_state") if n in weights]
        self._products[name] = linear(torch.cat(parts, dim=1), bias, int8)
