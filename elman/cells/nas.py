"""The cell that a neural architecture search found on the Penn Treebank (Zoph and Le 2016).

    o_k = f_k(W_k x_t + U_k h_{t-1} + b_k)                   k = 1 … 8 except 4
          f: σ for 1, 3, 6, 8; tanh for 5, 7; ReLU for 2
    o_4 = ReLU(W_4 x_t ∘ (U_4 h_{t-1} + b_4))                times, where the others add
    c̃_t = tanh(o_1 ∘ o_2)                                    what could be written
    u_t = tanh(o_3 + o_4)                                    how much of the cell is kept
    v_t = tanh(tanh(o_5 ∘ o_6) + σ(o_7 + o_8))               how much of it is read
    c_t = tanh(c̃_t + c_{t-1}) ∘ u_t
    h_t = tanh(c_t ∘ v_t)

As in the authors' release (`NASCell` of TensorFlow Addons), which has no biases unless asked for.
Rows of the product in the order 1, 3, 6, 8 (σ), 5, 7 (tanh), 2, 4.
"""

from __future__ import annotations

import torch

from elman.cells.cell import Cell, Product, States, Step


class NAS(Cell):
    """Eight mixtures of input and state, combined in a tree. State: (h, c)."""

    about = "cell found by neural architecture search (Zoph and Le 2016)"

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.state_sizes = (hidden_size, hidden_size)
        self.products = {
            # W feeds all rows but those of 4, whose input part multiplies: `factor`.
            "gates": Product(8 * hidden_size, 7 * hidden_size, hidden_size),
            "factor": Product(hidden_size, hidden_size, 0, bias=False),
        }

    def step(self, step: Step, state: States) -> States:
        hidden, memory = state
        size = self.hidden_size
        sigmoids, tanhs, second, fourth = step.product("gates", hidden).split_with_sizes(
            [4 * size, 2 * size, size, size], dim=1
        )
        first, third, sixth, eighth = torch.sigmoid(sigmoids).chunk(4, dim=1)
        fifth, seventh = torch.tanh(tanhs).chunk(2, dim=1)
        candidate = torch.tanh(first * torch.relu(second))
        update = torch.tanh(third + torch.relu(step.product("factor") * fourth))
        read = torch.tanh(torch.tanh(fifth * sixth) + torch.sigmoid(seventh + eighth))
        memory = torch.tanh(candidate + memory) * update
        hidden = torch.tanh(memory * read)
        step.record(hidden=hidden, cell=memory, candidate=candidate, update=update, output=read)
        return hidden, memory
