"""Fast single steps for generating text, where every token depends on the previous one.

Takes a cell and its weights once, then inputs (B, input_size) and a state per step. At batch 1 a
step reads every weight once and does two operations with it, so memory bandwidth is the limit. The
speed-ups are: one product [W U] [x; v] instead of two, no preparation per call, and a layout that
suits the number of rows.

The fused kernels for whole sequences do not help here: PyTorch 2.13 packs the weights again at
every call.

The ways to compute a product:

    one       laid out by columns: one row of values then reads the matrix at full speed
    several   rearranged for oneDNN if it is large: the fastest for two rows and more
    alike     always rearranged for oneDNN: a row has the same bits whatever the other rows are
    int8      eight-bit weights with a scale per row (`eight_bits.py`)

Where oneDNN computes large products faster than MKL (`matrix_products.py`), `one` and `several`
give it all large matrices.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Generic, Literal, TypeVar

import torch

from elman.cells.cell import Cell, Product, States, Weights
from elman.cells.eight_bits import Linear, linear_int8
from elman.cells.products import can_pack
from elman.matrix_products import onednn_is_faster

Way = Literal["one", "several", "alike", "int8"]
Made = TypeVar("Made")
_LARGE = 300_000  # weights; a smaller matrix gains less than the call of oneDNN costs
_ROWS = 8  # that oneDNN arranges a matrix for; with 1, single rows get bits of their own


def linear(weight: torch.Tensor, bias: torch.Tensor | None, way: Way = "one") -> Linear:
    """x -> x Wᵀ + b, for weights that will not change."""
    bias = None if bias is None else bias.detach()
    if way == "int8":
        return linear_int8(
            weight,
            bias,
            lambda matrix, several: linear(matrix, bias, "several" if several else "one"),
        )
    gains = weight.numel() >= _LARGE and (way == "several" or onednn_is_faster())
    packs = way == "alike" or gains
    if packs and can_pack(weight):
        return _linear_packed(weight, bias)
    return _linear_plain(weight.detach(), bias, by_columns=way == "one")


def _linear_plain(weight: torch.Tensor, bias: torch.Tensor | None, *, by_columns: bool) -> Linear:
    turned = weight.t().contiguous() if by_columns else weight.t()
    if bias is None:
        return lambda values: values @ turned
    return lambda values: torch.addmm(bias, values, turned)


def _linear_packed(weight: torch.Tensor, bias: torch.Tensor | None) -> Linear:
    packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach().contiguous(), _ROWS)
    product = torch.ops.mkldnn._linear_pointwise
    return lambda values: product(values.contiguous(), packed, bias, "none", [], "")


class Frozen(Generic[Made]):
    """A cache of weights that were prepared for single steps, valid while the weights are the same.

    A copy of a model, or a model in training, has other weights; then the cache is empty.
    """

    def __init__(self, made: Made, *weights: torch.Tensor) -> None:
        self._made = made
        self._from = _marks(weights)

    def of(self, *weights: torch.Tensor) -> Made | None:
        """The prepared form of exactly these weights; None while gradients are enabled."""
        return None if torch.is_grad_enabled() or not self.fits(*weights) else self._made

    def fits(self, *weights: torch.Tensor) -> bool:
        """Whether it was made from exactly these weights."""
        return _marks(weights) == self._from

    def __reduce__(self) -> Any:
        """Copies and pickles are empty, because their weights will be others."""
        return Frozen, (None,)


def _marks(weights: tuple[torch.Tensor, ...]) -> list[tuple[int, int]]:
    """The memory addresses and version counters of the weights."""
    return [(weight.data_ptr(), weight._version) for weight in weights]


class Stepper:
    """A cell with a copy of its weights, prepared for single steps."""

    def __init__(
        self, cell: Cell, weights: Weights, way: Way = "one", *, copies: bool = True
    ) -> None:
        """copies: whether the weights may change while it is used."""
        self.cell = cell
        self.inputs = torch.empty(0)
        self._weights: dict[str, torch.Tensor] = {}
        self._products: dict[str, Linear] = {}
        self._input_parts: dict[str, Linear] = {}
        own = {name: weight.detach() for name, weight in weights.items()}
        if copies:
            own = {name: weight.clone() for name, weight in own.items()}
        large = any(weight.numel() >= _LARGE for weight in own.values())
        usual = way in ("one", "several") and not (large and onednn_is_faster())
        given = None if usual else partial(linear, way=way)  # for None, the cell may have its own
        self._advance = cell.prepare_step(own, given)
        if self._advance is None:
            self._weights = own
            for name, product in cell.products.items():
                self._prepare(name, product, way)

    def step(self, inputs: torch.Tensor, state: States) -> States:
        """The state after one more input, (B, input_size)."""
        if self._advance is not None:
            return self._advance(inputs, state)
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

    def _prepare(self, name: str, product: Product, way: Way) -> None:
        weights = self._weights
        bias = self.cell.bias(name, weights)
        if product.input_rows and product.input_rows < product.rows and product.state_size:
            self._input_parts[name] = linear(weights[f"{name}_input"], None, way)
            self._products[name] = linear(weights[f"{name}_state"], bias, way)
            return
        parts = [weights[n] for n in (f"{name}_input", f"{name}_state") if n in weights]
        self._products[name] = linear(torch.cat(parts, dim=1), bias, way)
