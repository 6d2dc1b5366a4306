"""The GRU reduced until it can be computed in parallel (Feng et al. 2024).

    z_t = σ(W_z x_t + b_z)                                   update gate: reads the input only
    h̃_t = W_h x_t + b_h
    h_t = (1 - z_t) ∘ h_{t-1} + z_t ∘ h̃_t

From "Were RNNs all we needed?". Nothing but the last line looks back, and that is a scan
(`scan.py`). Rows in the order z, h.
"""

from __future__ import annotations

import torch
from torch.nn.functional import linear

from elman.cells.cell import Cell, Product, States, Step, Weights
from elman.cells.engine import Run
from elman.cells.scan import scan


class MinGRU(Cell):
    """One gate that does not look at the state."""

    about = "minimal GRU (Feng et al. 2024): all steps at once"

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.products = {"gates": Product(2 * hidden_size, 2 * hidden_size, 0)}

    def step(self, step: Step, state: States) -> States:
        (hidden,) = state
        update, candidate = step.product("gates").chunk(2, dim=1)
        update = torch.sigmoid(update)
        new = torch.lerp(hidden, candidate, update)
        step.record(hidden=new, update=update, candidate=candidate)
        return (new,)

    def fused(self, inputs: torch.Tensor, state: States, weights: Weights) -> Run | None:
        gates = linear(inputs, weights["gates_input"], weights["gates_bias"])
        update, candidate = gates.chunk(2, dim=2)  # (B, T, hidden_size)
        update = torch.sigmoid(update)
        outputs = scan(1 - update, update * candidate, state[0])
        return Run(outputs, (outputs[:, -1],))
