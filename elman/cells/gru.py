"""The gated recurrent unit as it was published (Cho et al. 2014) and as lectures write it.

    u_t = σ(W_u x_t + U_u h_{t-1} + b_u)             update gate: 0 keeps, 1 replaces
    r_t = σ(W_r x_t + U_r h_{t-1} + b_r)             reset gate
    h̃_t = tanh(W_h x_t + U_h (r_t ∘ h_{t-1}) + b_h)
    h_t = (1 - u_t) ∘ h_{t-1} + u_t ∘ h̃_t

PyTorch's GRU is another cell (`torch_gru.py`): it resets after the product, and its gate z = 1 - u.
"""

from __future__ import annotations

import torch

from elman.cells.cell import Cell, Product, States, Step, Weights
from elman.cells.engine import Run
from elman.cells.gru_sequence import run_gru


class GRU(Cell):
    """Two gates, no separate memory."""

    about = "gated recurrent unit (Cho et al. 2014): reset before the product"

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.products = {
            "gates": Product(2 * hidden_size, 2 * hidden_size, hidden_size),
            "candidate": Product(hidden_size, hidden_size, hidden_size),
        }

    def step(self, step: Step, state: States) -> States:
        (hidden,) = state
        update, reset = torch.sigmoid(step.product("gates", hidden)).chunk(2, dim=1)
        candidate = torch.tanh(step.product("candidate", reset * hidden))
        new = torch.lerp(hidden, candidate, update)
        step.record(hidden=new, update=update, reset=reset, candidate=candidate)
        return (new,)

    def fused(self, inputs: torch.Tensor, state: States, weights: Weights) -> Run | None:
        return run_gru(inputs, state[0], weights)
