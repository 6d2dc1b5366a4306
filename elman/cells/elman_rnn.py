"""The simple recurrent network (Elman 1990).

h_t = f(W x_t + U h_{t-1} + b)          f: tanh, sigmoid or ReLU
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from elman.cells.cell import Cell, Product, States, Step, Weights
from elman.cells.elman_sequence import run_elman
from elman.cells.engine import Run
from elman.cells.fusing import run_fused
from elman.errors import choose

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
