"""A stack of recurrent layers, step by step, for inputs that depend partly on the last output.

    [known_t; late_t] ── layer 1 ── layer 2 ── … ── output_t

The known part of all inputs is multiplied with the matrix of the first layer in one product before
the loop. Dropout masks are drawn before the loop too. The late part of the input of the first layer
is not dropped, unless the layer normalises its inputs. Called by the decoder.

The products of a cell whose input has a late part:

    W x_t + U v + b,   x_t = [known_t; late_t]

The known part is one product before the loop, as in the engine; the late part is added step by
step; the gradient of each matrix used in the loop is one product after it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn.functional import pad

from elman.cells.cell import Cell, Product, States, Weights
from elman.cells.products import Packed, defer, lay_out
from elman.layers.layer import Layer, Plain
from elman.layers.stack import Stack
from elman.matrix_products import linear
from elman.state import State


class StepSums:
    """prepared_t + Σ_k W_k v_k over time, where the values v_k arrive step by step."""

    def __init__(self, prepared: torch.Tensor, weights: Sequence[torch.Tensor | None]) -> None:
        """`prepared`: (T, B, rows); `weights`: (rows, size of v_k) each; None: v_k is not used."""
        time, batch_size, _ = prepared.shape
        self._matrices = [
            None if weight is None else lay_out(weight, time, batch_size) for weight in weights
        ]
        self._read: list[list[torch.Tensor]] = [[] for _ in weights]
        self._order: list[list[int]] = [[] for _ in weights]
        if any(isinstance(matrix, Packed) for matrix in self._matrices):
            prepared = prepared.contiguous()
        for weight, read, order in zip(weights, self._read, self._order, strict=True):
            prepared = prepared if weight is None else defer(prepared, weight, read, order)
        self._prepared = prepared.unbind(0)

    def at(self, now: int, values: Sequence[torch.Tensor | None]) -> torch.Tensor:
        """The sum of a step, (B, rows)."""
        total = self._prepared[now]
        for number, (matrix, value) in enumerate(zip(self._matrices, values, strict=True)):
            if matrix is not None and value is not None:
                self._read[number].append(value.detach())
                self._order[number].append(now)
                total = matrix.add(total, value)
        return total


class LateInputs:
    """The `Step` of a cell, for all steps of a sequence."""

    def __init__(self, cell: Cell, weights: Weights, known: torch.Tensor) -> None:
        """`known`: (B, T, size) of the inputs; the rest of the input is late."""
        self._weights = weights
        self._cell = cell
        self._known = known.transpose(0, 1)  # (T, B, known size)
        self._late: torch.Tensor | None = None
        self._now = 0
        self._sums = {name: self._prepare(name, product) for name, product in cell.products.items()}

    def step(self, now: int, late: torch.Tensor | None, state: States) -> States:
        """The state after step `now`, given the late input, (B, size)."""
        self._now, self._late = now, late
        return self._cell.step(self, state)

    @property
    def inputs(self) -> torch.Tensor:
        known = self._known[self._now]
        return known if self._late is None else torch.cat([known, self._late], dim=1)

    def product(self, name: str, state: torch.Tensor | None = None) -> torch.Tensor:
        return self._sums[name].at(self._now, (self._late, state))

    def weight(self, name: str) -> torch.Tensor:
        return self._weights[name]

    def record(self, **values: torch.Tensor) -> None:
        """Do nothing: there are no traces here."""

    def _prepare(self, name: str, product: Product) -> StepSums:
        """W x + b of the known part, and the matrices for the late part."""
        size = self._known.shape[2]
        bias = self._cell.bias(name, self._weights)
        prepared = self._known.new_zeros(product.rows) if bias is None else bias
        prepared = prepared.expand(*self._known.shape[:2], -1)
        late = None
        if product.input_rows:
            weight = self._weights[f"{name}_input"]
            if product.input_rows < product.rows:  # the other rows have no input part
                weight = pad(weight, (0, 0, 0, product.rows - product.input_rows))
            late = weight[:, size:] if size < self._cell.input_size else None
            if size:
                prepared = prepared + linear(self._known, weight[:, :size])
        return StepSums(prepared, [late, self._weights.get(f"{name}_state")])


class LateStack:
    """One run of a stack over a sequence, step by step."""

    def __init__(self, stack: Stack, known: torch.Tensor) -> None:
        """`known`: (B, T, size) of the inputs of the first layer; the rest is late."""
        rates = stack.config.input_rates()
        self._layers = [
            _LateLayer(stack, layer, rate, known if number == 0 else known[:, :, :0])
            for number, (layer, rate) in enumerate(zip(stack.layers, rates, strict=True))
        ]

    def step(self, now: int, late: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        """The output of a step, (B, size), and the state after it."""
        after: list[State] = []
        for layer, before in zip(self._layers, state, strict=True):
            late, new = layer.step(now, late, before[0])
            after.append((new,))
        return late, tuple(after)


class _LateLayer:
    """One layer of one direction during such a run."""

    def __init__(self, stack: Stack, layer: Layer, rate: float, known: torch.Tensor) -> None:
        self._layer = layer
        self._masks: tuple[torch.Tensor, ...] | None = None
        # Connections around the layer and normalisation need the whole input at once.
        self._whole = layer.normalise is not None or not isinstance(layer.connection, Plain)
        self._known = known.unbind(1)
        direction = layer.directions[0]
        if rate and stack.training:
            if known.shape[2] and not self._whole:
                known = stack.drop(known, rate)
            else:
                size = direction.cell.input_size
                ones = known.new_ones(*known.shape[:2], size)
                self._masks = stack.drop(ones, rate).expand_as(ones).unbind(1)
        if self._whole:
            known = known[:, :, :0]
        weights = layer.weights(direction) or direction.own_weights()
        self._inputs = LateInputs(*direction.regularised(weights), known)

    def step(self, now: int, late: torch.Tensor, state: States) -> tuple[torch.Tensor, States]:
        layer = self._layer
        entered = late
        if self._whole and self._known[now].shape[1]:
            entered = torch.cat([self._known[now], late], dim=1)
        read = entered if layer.normalise is None else layer.normalise(entered)
        if self._masks is not None:
            read = read * self._masks[now]
        after = self._inputs.step(now, read if read.shape[1] else None, state)
        if not self._whole:
            return after[0], after
        handed_on = layer.connection(entered.unsqueeze(1), after[0].unsqueeze(1))
        return handed_on.squeeze(1), after
