"""Run any cell over time, batch first: forward or reverse, with lengths, states and traces.

Takes a cell, its weights and inputs (B, T, input_size), gives outputs (B, T, size), the final
state, and on request the named values of the cell at every step.

It is fast because most work happens outside the loop. The input part of all products is one matrix
product before the loop. In the loop, the recurrent weights U have no gradient. The gradient of the
input part of a product is also the gradient of U v, so after the backward loop the gradient of U is
one product of all these gradients with all v (`products.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from elman.cells.cell import (
    Cell,
    Product,
    Run,
    States,
    Weights,
    check_inputs,
    check_lengths,
    check_state,
    check_step,
    check_weights,
)
from elman.cells.products import Packed, Plain, defer, lay_out
from elman.matrix_products import linear, multiply

# On a CPU, sequences shorter than this run faster step by step.
_WORTH_FUSING = 3
# The explicit backward pass rearranges the matrices first. With large matrices that takes as long
# as a dozen steps of one row, the usual case in dynamic evaluation.
_LARGE_MATRIX = 300_000
_FEW_PRODUCTS = 12


def run(
    cell: Cell,
    weights: Weights,
    inputs: torch.Tensor,
    state: States | None = None,
    *,
    lengths: torch.Tensor | None = None,
    reverse: bool = False,
    trace: bool = False,
    fuse: bool = True,
    outputs_only: bool = False,
) -> Run:
    """Run a cell over inputs (B, T, input_size).

    With `lengths` (B,), inputs beyond the length of a row do not change its state, and its outputs
    are zero there. `reverse` reads from the last token of each row to its first; outputs stay at
    the positions of their inputs. `outputs_only` lets rows of different lengths run in one call;
    the final state may then be missing.
    """
    check_inputs(inputs, cell.input_size)
    check_weights(weights, cell)
    batch_size, time, _ = inputs.shape
    if state is None:
        state = cell.start(batch_size, inputs)
    check_state(state, cell, batch_size)
    if lengths is not None:
        check_lengths(lengths, batch_size, time)
        if bool((lengths == time).all()):
            lengths = None  # no padding
    together = (lengths is None or outputs_only) and not trace
    if fuse and together and _worth_fusing(cell, weights, batch_size, time):
        fused = cell.fused(_turned(inputs, lengths) if reverse else inputs, state, weights)
        if fused is not None:
            outputs = _turned(fused.outputs, lengths) if reverse else fused.outputs
            if lengths is None:
                return Run(outputs, fused.state)
            within = real_tokens(inputs, lengths)
            return Run(torch.where(within.unsqueeze(2), outputs, 0), ())
    return _run_steps(cell, weights, inputs, state, lengths, reverse, trace)


def _worth_fusing(cell: Cell, weights: Weights, batch_size: int, time: int) -> bool:
    if time < _WORTH_FUSING:
        return False
    if not torch.is_grad_enabled() or batch_size * time > _FEW_PRODUCTS:
        return True
    recurrent = [weights[f"{name}_state"] for name, p in cell.products.items() if p.state_size]
    return not any(w.requires_grad and w.numel() >= _LARGE_MATRIX for w in recurrent)


def _run_steps(
    cell: Cell,
    weights: Weights,
    inputs: torch.Tensor,
    state: States,
    lengths: torch.Tensor | None,
    reverse: bool,
    trace: bool,
) -> Run:
    time = inputs.shape[1]
    if time == 0:
        size = cell.state_sizes[0]
        empty: dict[str, torch.Tensor] | None = {} if trace else None
        return Run(inputs.new_zeros(len(inputs), 0, size), state, empty)
    steps = _Steps(cell, weights, inputs, trace)
    alive = None  # for each step, which rows still have a token there, (B, 1)
    if lengths is not None:
        alive = list(real_tokens(inputs, lengths).t().unsqueeze(2).unbind(0))
    outputs: list[torch.Tensor] = [inputs] * time
    first = time - 1 if reverse else 0
    for t in range(time - 1, -1, -1) if reverse else range(time):
        steps.now = t
        after = cell.step(steps, state)
        if t == first:
            check_step(after, cell, len(inputs))
        if alive is None:
            outputs[t] = after[0]
        else:
            after = tuple(
                torch.where(alive[t], new, old) for new, old in zip(after, state, strict=True)
            )
            outputs[t] = torch.where(alive[t], after[0], 0)
        state = after
    return Run(torch.stack(outputs, dim=1), state, steps.traced(alive) if trace else None)


def _turned(values: torch.Tensor, lengths: torch.Tensor | None) -> torch.Tensor:
    """Reverse every row (B, T, size) within its length; padding stays at the end."""
    if lengths is None:
        return values.flip(1)
    steps, lengths = torch.arange(values.shape[1], device=values.device), lengths.to(values.device)
    places = torch.where(real_tokens(values, lengths), lengths[:, None] - 1 - steps, steps)
    return values.gather(1, places.unsqueeze(2).expand_as(values))


def real_tokens(values: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Which values (B, T, size) are tokens and not padding, (B, T)."""
    steps = torch.arange(values.shape[1], device=values.device)
    return steps < lengths.to(values.device)[:, None]


def _unknown(cell: Cell, what: str, name: str, known: Iterable[str]) -> str:
    names = ", ".join(known) or "none"
    return f"{type(cell).__name__} has no {what} {name!r} (it defines: {names})"


class _Steps:
    """The products of all steps: prepared before the loop, finished in it."""

    def __init__(self, cell: Cell, weights: Weights, inputs: torch.Tensor, trace: bool) -> None:
        self.now = 0
        self._cell = cell
        self._weights = weights
        self._by_time = inputs.transpose(0, 1)  # (T, B, input_size)
        self._values: dict[str, list[torch.Tensor]] | None = {} if trace else None
        self._times: list[int] = []
        self._prepared: dict[str, tuple[torch.Tensor, ...]] = {}
        self._matrices: dict[str, Plain] = {}  # U, cut off from the graph
        self._read: dict[str, list[torch.Tensor]] = {}  # every v that U was applied to, in order
        self._order: dict[str, list[int]] = {}
        self._prepare()

    @property
    def inputs(self) -> torch.Tensor:
        return self._by_time[self.now]

    def weight(self, name: str) -> torch.Tensor:
        if name not in self._weights:
            raise ValueError(_unknown(self._cell, "weight", name, self._cell.own_weights))
        return self._weights[name]

    def product(self, name: str, state: torch.Tensor | None = None) -> torch.Tensor:
        if name not in self._prepared:
            raise ValueError(_unknown(self._cell, "product", name, self._cell.products))
        prepared = self._prepared[name][self.now]
        if state is None:
            return prepared
        # One use per step: the gradients of two uses could not be told apart afterwards.
        assert self.now not in self._order[name][-1:], f"product {name!r} twice in one step"
        self._read[name].append(state.detach())
        self._order[name].append(self.now)
        return self._matrices[name].add(prepared, state)

    def record(self, **values: torch.Tensor) -> None:
        if self._values is None:
            return
        for name, value in values.items():
            self._values.setdefault(name, []).append(value)
        if len(self._times) < len(next(iter(self._values.values()))):
            self._times.append(self.now)

    def traced(self, alive: list[torch.Tensor] | None) -> dict[str, torch.Tensor]:
        """Name to (B, T, size); zero beyond the lengths."""
        traced = {}
        for name, values in (self._values or {}).items():
            by_time = dict(zip(self._times, values, strict=True))
            ordered = [by_time[t] for t in range(len(values))]
            if alive is not None:
                ordered = [torch.where(a, v, 0) for a, v in zip(alive, ordered, strict=True)]
            traced[name] = torch.stack(ordered, dim=1)
        return traced

    def _prepare(self) -> None:
        """Compute the input part of all products of all steps in one product."""
        cell = self._cell
        fed = {name: product for name, product in cell.products.items() if product.input_rows}
        parts = self._input_parts(fed)
        for name, product in cell.products.items():
            part = self._with_bias(name, product, parts.get(name))
            if product.state_size:
                weight = self._weights[f"{name}_state"]
                matrix = lay_out(weight, *self._by_time.shape[:2])
                self._matrices[name] = matrix
                part = part.contiguous() if isinstance(matrix, Packed) else part
                self._read[name], self._order[name] = [], []
                part = defer(part, weight, self._read[name], self._order[name])
            self._prepared[name] = part.unbind(0)

    def _input_parts(self, fed: dict[str, Product]) -> dict[str, torch.Tensor]:
        if not fed:
            return {}
        separate = self._cell.product_inputs(self._by_time)
        if separate is not None:
            return {name: linear(separate[name], self._weights[f"{name}_input"]) for name in fed}
        time, batch_size, size = self._by_time.shape
        weights = [self._weights[f"{name}_input"] for name in fed]
        weight = weights[0] if len(weights) == 1 else torch.cat(weights)
        everything = multiply(self._by_time.reshape(time * batch_size, size), weight.t())
        rows = [product.input_rows for product in fed.values()]
        parts = everything.view(time, batch_size, sum(rows)).split_with_sizes(rows, dim=2)
        return dict(zip(fed, parts, strict=True))

    def _with_bias(self, name: str, product: Product, part: torch.Tensor | None) -> torch.Tensor:
        """W x + b for all steps, (T, B, rows); rows that W does not feed hold b alone."""
        time, batch_size, _ = self._by_time.shape
        bias = self._cell.bias(name, self._weights)
        if bias is None:
            bias = self._by_time.new_zeros(product.rows)
        if part is None:
            return bias.expand(time, batch_size, -1)
        fed = part + bias[: product.input_rows]
        if product.input_rows == product.rows:
            return fed
        rest = bias[product.input_rows :].expand(time, batch_size, -1)
        return torch.cat([fed, rest], dim=2)


# Shared parts of cells that compute a whole sequence at once -------------------------------------
#
# Recording every step for autograd costs a tenth of the time. The classical cells avoid it: all
# their steps are one autograd function with explicit back-propagation through time (`elman_rnn.py`,
# `gru.py`, `lstm.py`). The input part of all steps is computed before the function, and autograd
# finds its gradient; the gradient of U is one product after the loop. Inside, time is the first
# dimension: the values of all steps are then tall matrices, and the next steps read the outputs as
# states without copies.

# derivative(gradient, value, grad_input=where): gradient ∘ f'(a), from value = f(a), into where
tanh_derivative = torch.ops.aten.tanh_backward.grad_input  # 1 - value²
sigmoid_derivative = torch.ops.aten.sigmoid_backward.grad_input  # value (1 - value)


def time_first(inputs: torch.Tensor) -> torch.Tensor:
    """(B, T, size) to a contiguous (T, B, size)."""
    return inputs.transpose(0, 1).contiguous()


def states_from(start: torch.Tensor, time: int) -> torch.Tensor:
    """Allocate h_0 … h_T, (T + 1, B, H), and set h_0."""
    states = start.new_empty(time + 1, *start.shape)
    states[0] = start
    return states


def weight_gradient(arrived: torch.Tensor, read: torch.Tensor) -> torch.Tensor:
    """dU = sum over t of da_t v_tᵀ, from da (T, B, rows) and v (T, B, size), in one product."""
    return multiply(arrived.flatten(0, 1).t(), read.flatten(0, 1))


def finished(outputs: torch.Tensor) -> Run:
    """The run with the states h_1 … h_T, (T, B, H)."""
    return Run(outputs.transpose(0, 1), (outputs[-1],))


def run_fused(
    kernel: Callable[..., Any],
    inputs: torch.Tensor,
    state: States,
    weights: Weights,
    product: str,
) -> Run:
    """One of PyTorch's kernels: `torch.rnn_tanh`, `torch.lstm`, `torch.gru` …

    One layer, one direction, batch first, with weights as arguments.
    """
    bias = weights.get(f"{product}_bias")
    flat = [weights[f"{product}_input"], weights[f"{product}_state"]]
    if bias is not None:
        second = weights.get(f"{product}_state_bias")
        flat += [bias, torch.zeros_like(bias) if second is None else second]
    layered = [tensor.unsqueeze(0).contiguous() for tensor in state]
    given = layered[0] if len(layered) == 1 else layered
    # biases, layers, dropout, training, two directions, batch first
    settings = (bias is not None, 1, 0.0, torch.is_grad_enabled(), False, True)
    outputs, *final = kernel(inputs, given, flat, *settings)
    return Run(outputs, tuple(tensor.squeeze(0) for tensor in final))
