"""The LSTM whose gates see the cell through peepholes (Gers and Schmidhuber 2000).

    i_t = σ(W_i x_t + U_i h_{t-1} + p_i ∘ c_{t-1} + b_i)
    f_t = σ(W_f x_t + U_f h_{t-1} + p_f ∘ c_{t-1} + b_f)
    g_t = tanh(W_g x_t + U_g h_{t-1} + b_g)
    c_t = f_t ∘ c_{t-1} + i_t ∘ g_t
    o_t = σ(W_o x_t + U_o h_{t-1} + p_o ∘ c_t + b_o)         the new cell, not the old
    h_t = o_t ∘ tanh(c_t)

A peephole is one number per unit. Rows of the product in the order i, f, g, o, as in `lstm.py`.
"""

from __future__ import annotations

import torch

from elman.cells.cell import Cell, Product, States, Step, Weights


class Peephole(Cell):
    """Gates look at the memory they guard. State: (h, c)."""

    about = "LSTM with peepholes from the cell to its gates (Gers and Schmidhuber 2000)"

    def __init__(self, input_size: int, hidden_size: int, *, forget_bias: float = 0.0) -> None:
        super().__init__(input_size, hidden_size)
        self.forget_bias = forget_bias
        self.state_sizes = (hidden_size, hidden_size)
        rows = 4 * hidden_size
        self.products = {"gates": Product(rows, rows, hidden_size)}
        # p_i and p_f in one, because they look at the same cell.
        self.own_weights = {"peephole_gates": (2, hidden_size), "peephole_output": (hidden_size,)}

    def initialise(self, weights: Weights) -> None:
        super().initialise(weights)
        weights["gates_bias"][self.hidden_size : 2 * self.hidden_size] += self.forget_bias

    def step(self, step: Step, state: States) -> States:
        hidden, memory = state
        size = self.hidden_size
        in_and_forget, candidate, out = step.product("gates", hidden).split_with_sizes(
            [2 * size, size, size], dim=1
        )
        peeped = torch.addcmul(
            in_and_forget.view(len(memory), 2, size),
            step.weight("peephole_gates"),
            memory.unsqueeze(1),
        )  # (B, 2, hidden_size)
        input_gate, forget_gate = torch.sigmoid(peeped).unbind(1)
        candidate = torch.tanh(candidate)
        memory = torch.addcmul(forget_gate * memory, input_gate, candidate)
        output_gate = torch.sigmoid(torch.addcmul(out, step.weight("peephole_output"), memory))
        hidden = output_gate * torch.tanh(memory)
        step.record(hidden=hidden, cell=memory, candidate=candidate)
        step.record(input=input_gate, forget=forget_gate, output=output_gate)
        return hidden, memory
