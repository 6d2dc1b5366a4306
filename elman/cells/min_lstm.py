"""The LSTM reduced until it can be computed in parallel (Feng et al. 2024).

    f_t = σ(W_f x_t + b_f)                                   forget gate: reads the input only
    i_t = σ(W_i x_t + b_i)                                   input gate: reads the input only
    h̃_t = W_h x_t + b_h
    f'_t = f_t / (f_t + i_t), i'_t = i_t / (f_t + i_t)
    h_t = f'_t ∘ h_{t-1} + i'_t ∘ h̃_t

From "Were RNNs all we needed?". Nothing but the last line looks back, and that is a scan
(`scan.py`). Rows in the order f, i, h.
"""

from __future__ import annotations

import torch
from torch.nn.functional import linear, logsigmoid

from elman.cells.cell import Cell, Product, States, Step, Weights
from elman.cells.engine import Run
from elman.cells.scan import scan


class MinLSTM(Cell):
    """Two gates that share one whole, and do not look at the state."""

    about = "minimal LSTM (Feng et al. 2024): all steps at once"

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.products = {"gates": Product(3 * hidden_size, 3 * hidden_size, 0)}

    def step(self, step: Step, state: States) -> States:
        (hidden,) = state
        keep, candidate = self.activate(step.product("gates"))
        new = torch.lerp(candidate, hidden, keep)
        step.record(hidden=new, forget=keep, input=1 - keep, candidate=candidate)
        return (new,)

    def fused(self, inputs: torch.Tensor, state: States, weights: Weights) -> Run | None:
        gates = linear(inputs, weights["gates_input"], weights["gates_bias"])
        keep, candidate = self.activate(gates)  # (B, T, hidden_size)
        outputs = scan(keep, (1 - keep) * candidate, state[0])
        return Run(outputs, (outputs[:, -1],))

    def activate(self, gates: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """f' and the candidate; i' is 1 - f'."""
        both, candidate = gates.split_with_sizes([2 * self.hidden_size, self.hidden_size], dim=-1)
        # f / (f + i) = σ(log f - log i), which holds where both gates are too small to divide.
        forget_gate, input_gate = logsigmoid(both).chunk(2, dim=-1)
        return torch.sigmoid(forget_gate - input_gate), candidate
