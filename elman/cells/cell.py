"""The base class of cells: the state, the weights, and one step.

A cell owns no weights and no state; it defines their shapes and one step. The engine (`engine.py`)
runs any cell over time. A step is written as in a paper, with products

    product(name, v) = W x_t + U v + b          (any of the three parts may be missing)

and element-wise functions. The engine computes W x_t + b of all steps in one product, and the
gradient of U in one product too.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch

Weights = Mapping[str, torch.Tensor]
States = tuple[torch.Tensor, ...]  # each (B, size); the first is the output


MakeLinear = Callable[[torch.Tensor, torch.Tensor | None], Callable[[torch.Tensor], torch.Tensor]]
Advance = Callable[[torch.Tensor, States], States]  # inputs (B, input_size) and a state, to a state


@dataclass
class Run:
    """The result of running a cell over time."""

    outputs: torch.Tensor  # (B, T, size)
    state: States  # after the last step (of each row, where lengths are given)
    trace: dict[str, torch.Tensor] | None = None  # name to (B, T, size)


@dataclass(frozen=True)
class Product:
    """One product of a step, W x_t + U v + b, of `rows` numbers per row of the batch.

    Weights are named after the product: `gates_input` (W), `gates_state` (U), `gates_bias` (b).
    """

    rows: int
    input_rows: int  # W feeds this many first rows; 0: there is no W
    state_size: int  # size of v; 0: there is no U
    bias: bool = True
    second_bias: bool = False  # a second bias for U v, as in PyTorch: `gates_state_bias`
    partial: bool = False  # the rows after the first `input_rows` do not see the input
    shared: bool = False  # all units use the same rows, as a gate that is one number


class Step(Protocol):
    """The interface of the engine for one step of a cell."""

    @property
    def inputs(self) -> torch.Tensor:
        """x_t, (B, input_size)."""

    def product(self, name: str, state: torch.Tensor | None = None) -> torch.Tensor:
        """W x_t + U state + b, (B, rows)."""

    def weight(self, name: str) -> torch.Tensor:
        """A weight of the cell that belongs to no product."""

    def record(self, **values: torch.Tensor) -> None:
        """Record named values in the trace, if a trace was requested."""


class Cell(ABC):
    """A recurrence: h_t = f(x_t, h_{t-1})."""

    about: ClassVar[str]
    products: dict[str, Product]
    own_weights: dict[str, tuple[int, ...]]  # weights outside the products: name to shape
    state_sizes: tuple[int, ...]  # the first is the output

    def __init__(self, input_size: int, hidden_size: int) -> None:
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.products = {}
        self.own_weights = {}
        self.state_sizes = (hidden_size,)

    @abstractmethod
    def step(self, step: Step, state: States) -> States:
        """The state after one more input; its first tensor is the output."""

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of every weight, by name."""
        shapes: dict[str, tuple[int, ...]] = {}
        for name, product in self.products.items():
            if product.input_rows:
                shapes[f"{name}_input"] = (product.input_rows, self.input_size)
            if product.state_size:
                shapes[f"{name}_state"] = (product.rows, product.state_size)
            if product.bias:
                shapes[f"{name}_bias"] = (product.rows,)
            if product.second_bias:
                shapes[f"{name}_state_bias"] = (product.rows,)
        return shapes | self.own_weights

    def bias(self, name: str, weights: Weights) -> torch.Tensor | None:
        """The sum of the biases of a product, (rows,); None if it has none."""
        product = self.products[name]
        names = [f"{name}_bias"] * product.bias + [f"{name}_state_bias"] * product.second_bias
        return sum((weights[each] for each in names[1:]), weights[names[0]]) if names else None

    def initialise(self, weights: Weights) -> None:
        """Fill fresh weights in place: uniform within ±1/√hidden_size, as PyTorch does."""
        bound = 1 / math.sqrt(self.hidden_size)
        for weight in weights.values():
            weight.uniform_(-bound, bound)

    def start(self, batch_size: int, like: torch.Tensor) -> States:
        """The initial state: zeros."""
        return tuple(like.new_zeros(batch_size, size) for size in self.state_sizes)

    def product_inputs(self, inputs: torch.Tensor) -> dict[str, torch.Tensor] | None:
        """The inputs (T, B, input_size) that each product reads; None: all read these inputs."""
        return None

    @property
    def steps_alike(self) -> bool:
        """Whether `prepare_step` gives a row the same bits whatever the other rows of a batch are,
        if the products do.
        """
        return False

    def prepare_step(self, weights: Weights, make: MakeLinear | None) -> Advance | None:
        """A faster form of `step` for weights that will not change; None: there is none.

        `make` prepares the product with a matrix and a bias; None: in any way.
        """
        return None

    def fused(self, inputs: torch.Tensor, state: States, weights: Weights) -> Run | None:
        """Run all steps in one call, if the cell has a faster way than step by step; else None.

        This is a kernel of PyTorch, or an explicit backward pass (`engine.py`). inputs:
        (B, T, input_size), forward in time, no padding.
        """
        return None


def check_products(cell: Cell) -> None:
    """Raise if a product has too few rows, unless it says that this is meant.

    Without this check, such a cell would run and give wrong results: a gate without W ignores its
    input, and PyTorch broadcasts a single row to all units.
    """
    sizes = {cell.hidden_size, cell.input_size, *cell.state_sizes}
    for name, product in cell.products.items():
        where = f"{type(cell).__name__}: the product {name!r}"
        if product.input_rows not in (0, product.rows) and not product.partial:
            raise ValueError(
                f"{where} has {product.rows} rows, but only {product.input_rows} input rows: the "
                "other rows would not see the input; give the same number twice, or partial=True"
            )
        if product.shared or any(product.rows % size == 0 for size in sizes):
            continue
        if not any(other.state_size == product.rows for other in cell.products.values()):
            raise ValueError(
                f"{where} has {product.rows} rows: expected a multiple of hidden_size "
                f"({cell.hidden_size}), one row for each unit; or shared=True"
            )


def check_inputs(inputs: torch.Tensor, input_size: int) -> None:
    """Raise unless inputs are vectors (B, T, input_size)."""
    if inputs.ndim != 3 or inputs.shape[2] != input_size:
        raise ValueError(
            f"inputs of shape {tuple(inputs.shape)}: expected (batch, time, {input_size})"
        )
    if not inputs.is_floating_point():
        raise ValueError(f"inputs of type {inputs.dtype}: expected vectors, not ids; embed them")


def check_state(state: States, cell: Cell, batch_size: int) -> None:
    """Raise unless the state has one tensor (B, size) for each state of the cell."""
    expected = [(batch_size, size) for size in cell.state_sizes]
    found = [tuple(tensor.shape) for tensor in state]
    if found != expected:
        raise ValueError(f"state of shapes {found}: expected a tuple of tensors of {expected}")


def check_step(after: object, cell: Cell, batch_size: int) -> None:
    """Raise unless a step returned one tensor (B, size) for each state of the cell."""
    expected = [(batch_size, size) for size in cell.state_sizes]
    found: object = type(after).__name__
    if isinstance(after, tuple):
        found = [tuple(tensor.shape) for tensor in after]
    if found != expected:
        raise ValueError(
            f"{type(cell).__name__}.step returned {found}: expected a tuple of tensors of "
            f"{expected}, as state_sizes says"
        )


def check_weights(weights: Weights, cell: Cell) -> None:
    """Raise unless every weight of the cell is there in its shape; other weights are ignored."""
    for name, shape in cell.shapes().items():
        if name not in weights:
            raise ValueError(f"weights lack {name!r}, of shape {shape}")
        if weights[name].shape != shape:
            found = tuple(weights[name].shape)
            raise ValueError(f"weight {name!r} of shape {found}: expected {shape}")


def check_lengths(lengths: torch.Tensor, batch_size: int, time: int) -> None:
    """Raise unless lengths are integers from 0 to T, one per row."""
    if not isinstance(lengths, torch.Tensor) or lengths.dtype not in (torch.int64, torch.int32):
        raise ValueError("lengths: expected a tensor of whole numbers (torch.int64)")
    if tuple(lengths.shape) != (batch_size,):
        raise ValueError(
            f"lengths of shape {tuple(lengths.shape)}: expected one per row, ({batch_size},)"
        )
    if batch_size and not 0 <= int(lengths.min()) <= int(lengths.max()) <= time:
        raise ValueError(
            f"lengths from {int(lengths.min())} to {int(lengths.max())}: must lie between 0 and "
            f"the number of steps, {time}"
        )
