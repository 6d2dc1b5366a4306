"""The simple recurrent network over a whole sequence, with its way back written out.

    a_t = W x_t + U h_{t-1} + b
    h_t = f(a_t)

Back, with dh_t from the output and from step t + 1 together:

    da_t     = dh_t ∘ f'(a_t)
    dh_{t-1} = Uᵀ da_t + its own output's

Called by `elman_rnn.py`; `through_time.py` says why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.functional import linear

from elman.cells.cell import Weights
from elman.cells.engine import Run
from elman.cells.packing import Plain, lay_out
from elman.cells.second_derivative import refuse_second_derivative
from elman.cells.through_time import (
    finished,
    sigmoid_derivative,
    states_from,
    tanh_derivative,
    time_first,
    weight_gradient,
)


def relu(values: torch.Tensor, *, out: torch.Tensor) -> None:
    """`torch.relu`, which has no `out`."""
    torch.clamp(values, min=0, out=out)


def relu_derivative(
    gradient: torch.Tensor, value: torch.Tensor, *, grad_input: torch.Tensor
) -> None:
    """1 where value > 0, else 0."""
    torch.ops.aten.threshold_backward.grad_input(gradient, value, 0, grad_input=grad_input)


# f and its derivative, writing where they are told.
FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "tanh": (torch.tanh, tanh_derivative),
    "sigmoid": (torch.sigmoid, sigmoid_derivative),
    "relu": (relu, relu_derivative),
}


def run_elman(inputs: torch.Tensor, start: torch.Tensor, weights: Weights, activation: str) -> Run:
    """All steps. inputs: (B, T, input_size); start h_0: (B, H)."""
    prepared = linear(time_first(inputs), weights["hidden_input"], weights["hidden_bias"])
    recurrent = weights["hidden_state"]
    matrix = lay_out(recurrent, *prepared.shape[:2])
    return finished(_ElmanSequence.apply(prepared, start, recurrent, matrix, activation))  # type: ignore[no-untyped-call]


class _ElmanSequence(torch.autograd.Function):
    """W x_t + b of all steps (T, B, H), h_0 and U to h_1 … h_T (T, B, H)."""

    @staticmethod
    def forward(
        ctx: Any,
        prepared: torch.Tensor,
        start: torch.Tensor,
        recurrent: torch.Tensor,
        matrix: Plain,
        activation: str,
    ) -> torch.Tensor:
        function, _ = FUNCTIONS[activation]
        states = states_from(start, len(prepared))
        before, *after = states.unbind(0)
        for part, hidden in zip(prepared.unbind(0), after, strict=True):
            function(matrix.forward(part, before), out=hidden)
            before = hidden
        ctx.save_for_backward(states, recurrent)
        ctx.matrix, ctx.activation = matrix, activation
        return states[1:]

    @staticmethod
    def backward(ctx: Any, d_outputs: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        refuse_second_derivative()
        states, _ = ctx.saved_tensors
        _, derivative = FUNCTIONS[ctx.activation]
        arrived = torch.empty_like(states[1:])
        d_hidden = torch.zeros_like(states[0])
        for t in reversed(range(len(arrived))):
            derivative(d_hidden.add_(d_outputs[t]), states[t + 1], grad_input=arrived[t])
            d_hidden = ctx.matrix.backward(arrived[t])
        d_recurrent = weight_gradient(arrived, states[:-1]) if ctx.needs_input_grad[2] else None
        return arrived, d_hidden, d_recurrent, None, None
