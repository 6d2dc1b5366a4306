"""The third of three cells found by mutating the GRU (Józefowicz, Zaremba and Sutskever 2015).

z_t = σ(W_z x_t + U_z tanh(h_{t-1}) + b_z)               update gate
r_t = σ(W_r x_t + U_r h_{t-1} + b_r)                     reset gate
h̃_t = tanh(W_h x_t + U_h (r_t ∘ h_{t-1}) + b_h)
h_t = z_t ∘ h̃_t + (1 - z_t) ∘ h_{t-1}
"""

from __future__ import annotations

import torch

from elman.cells.cell import Cell, Product, States, Step


class MUT3(Cell):
    """A GRU whose update gate sees the state through a tanh."""

    about = "third mutation of the GRU (Józefowicz et al. 2015)"

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        product = Product(hidden_size, hidden_size, hidden_size)
        self.products = {"update": product, "reset": product, "candidate": product}

    def step(self, step: Step, state: States) -> States:
        (hidden,) = state
        update = torch.sigmoid(step.product("update", torch.tanh(hidden)))
        reset = torch.sigmoid(step.product("reset", hidden))
        candidate = torch.tanh(step.product("candidate", reset * hidden))
        new = torch.lerp(hidden, candidate, update)
        step.record(hidden=new, update=update, reset=reset, candidate=candidate)
        return (new,)
