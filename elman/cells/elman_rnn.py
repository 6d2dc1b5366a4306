"""The simple recurrent network (Elman 1990).

h_t = f(W x_t + U h_{t-1} + b)          f: tanh, sigmoid or ReLU
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from elman.cells.cell import Cell, Product, Run, States, Step, Weights
from elman.cells.engine import (
    finished,
    run_fused,
    sigmoid_derivative,
    states_from,
    tanh_derivative,
    time_first,
    weight_gradient,
)
from elman.cells.products import Plain, lay_out, refuse_second_derivative
from elman.errors import choose
from elman.matrix_products import linear

ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
}


class ElmanRNN(Cell):
    """The hidden state is rewritten at every step."""

    about = "simple recurrent network (Elman 1990)"

    def __init__(self, input_size: int, hidden_size: int, activation: str = "tanh") -> None:
        super().__init__(input_size, hidden_size)
        self.activation = activation
        self.function = choose(ACTIVATIONS, activation, "activation")
        self.products = {"hidden": Product(hidden_size, hidden_size, hidden_size)}

    def step(self, step: Step, state: States) -> States:
        hidden = self.function(step.product("hidden", state[0]))
        step.record(hidden=hidden)
        return (hidden,)

    def fused(self, inputs: torch.Tensor, state: States, weights: Weights) -> Run | None:
        if not inputs.is_cuda or self.activation == "sigmoid":  # faster than a kernel on a CPU
            return run_elman(inputs, state[0], weights, self.activation)
        kernel = torch.rnn_tanh if self.activation == "tanh" else torch.rnn_relu
        return run_fused(kernel, inputs, state, weights, "hidden")


def relu(values: torch.Tensor, *, out: torch.Tensor) -> None:
    """`torch.relu`, which has no `out`."""
    torch.clamp(values, min=0, out=out)


def relu_derivative(
    gradient: torch.Tensor, value: torch.Tensor, *, grad_input: torch.Tensor
) -> None:
    """1 where value > 0, else 0."""
    torch.ops.aten.threshold_backward.grad_input(gradient, value, 0, grad_input=grad_input)


# f and its derivative, with an output argument.
FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "tanh": (torch.tanh, tanh_derivative),
    "sigmoid": (torch.sigmoid, sigmoid_derivative),
    "relu": (relu, relu_derivative),
}


def run_elman(inputs: torch.Tensor, start: torch.Tensor, weights: Weights, activation: str) -> Run:
    """The simple recurrent network over a whole sequence, with an explicit backward pass.

        a_t = W x_t + U h_{t-1} + b
        h_t = f(a_t)

    Back, with dh_t from the output and from step t + 1 together:

        da_t     = dh_t ∘ f'(a_t)
        dh_{t-1} = Uᵀ da_t + its own output's

    All steps. inputs: (B, T, input_size); start h_0: (B, H).
    """
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
