"""Cells found by a search: three mutations of the GRU, and one built from scratch."""

from __future__ import annotations

import torch

from elman.cells.cell import Cell, Product, States, Step
from elman.errors import InputError


class _AddsInput(Cell):
    """A cell that adds x_t to its state, so both must have the same size."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        if input_size != hidden_size:
            raise InputError(
                f"cell {type(self).__name__.lower()!r} adds its input to its state: input size "
                f"{input_size} must equal hidden size {hidden_size}"
            )
        super().__init__(input_size, hidden_size)


class MUT1(_AddsInput):
    """The first of three cells found by mutating the GRU (Józefowicz, Zaremba and Sutskever 2015).

        z_t = σ(W_z x_t + b_z)                                   update gate: reads the input only
        r_t = σ(W_r x_t + U_r h_{t-1} + b_r)                     reset gate
        h̃_t = tanh(U_h (r_t ∘ h_{t-1}) + tanh(x_t) + b_h)
        h_t = z_t ∘ h̃_t + (1 - z_t) ∘ h_{t-1}

    x_t enters the candidate without a matrix, so it must have the size of h_t.
    """

    about = "first mutation of the GRU (Józefowicz et al. 2015): needs inputs of the hidden size"

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.products = {
            "update": Product(hidden_size, hidden_size, 0),
            "reset": Product(hidden_size, hidden_size, hidden_size),
            "candidate": Product(hidden_size, 0, hidden_size),
        }

    def step(self, step: Step, state: States) -> States:
        (hidden,) = state
        update = torch.sigmoid(step.product("update"))
        reset = torch.sigmoid(step.product("reset", hidden))
        recurrent = step.product("candidate", reset * hidden)
        candidate = torch.tanh(recurrent + torch.tanh(step.inputs))
        new = torch.lerp(hidden, candidate, update)
        step.record(hidden=new, update=update, reset=reset, candidate=candidate)
        return (new,)


class MUT2(_AddsInput):
    """The second of three cells found by mutating the GRU (Józefowicz, Zaremba and Sutskever 2015).

        z_t = σ(W_z x_t + U_z h_{t-1} + b_z)                     update gate
        r_t = σ(x_t + U_r h_{t-1} + b_r)                         reset gate
        h̃_t = tanh(W_h x_t + U_h (r_t ∘ h_{t-1}) + b_h)
        h_t = z_t ∘ h̃_t + (1 - z_t) ∘ h_{t-1}

    x_t enters the reset gate without a matrix, so it must have the size of h_t.
    """

    about = "second mutation of the GRU (Józefowicz et al. 2015): needs inputs of the hidden size"

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.products = {
            # Rows in the order z, r; W feeds z only.
            "gates": Product(2 * hidden_size, hidden_size, hidden_size, partial=True),
            "candidate": Product(hidden_size, hidden_size, hidden_size),
        }

    def step(self, step: Step, state: States) -> States:
        (hidden,) = state
        update, reset = step.product("gates", hidden).chunk(2, dim=1)
        update, reset = torch.sigmoid(update), torch.sigmoid(reset + step.inputs)
        candidate = torch.tanh(step.product("candidate", reset * hidden))
        new = torch.lerp(hidden, candidate, update)
        step.record(hidden=new, update=update, reset=reset, candidate=candidate)
        return (new,)


class MUT3(Cell):
    """The third of three cells found by mutating the GRU (Józefowicz, Zaremba and Sutskever 2015).

    z_t = σ(W_z x_t + U_z tanh(h_{t-1}) + b_z)               update gate
    r_t = σ(W_r x_t + U_r h_{t-1} + b_r)                     reset gate
    h̃_t = tanh(W_h x_t + U_h (r_t ∘ h_{t-1}) + b_h)
    h_t = z_t ∘ h̃_t + (1 - z_t) ∘ h_{t-1}
    """

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


class NAS(Cell):
    """The cell that a neural architecture search found on the Penn Treebank (Zoph and Le 2016).

        o_k = f_k(W_k x_t + U_k h_{t-1} + b_k)                   k = 1 … 8 except 4
              f: σ for 1, 3, 6, 8; tanh for 5, 7; ReLU for 2
        o_4 = ReLU(W_4 x_t ∘ (U_4 h_{t-1} + b_4))                times, where the others add
        c̃_t = tanh(o_1 ∘ o_2)                                    what could be written
        u_t = tanh(o_3 + o_4)                                    how much of the cell is kept
        v_t = tanh(tanh(o_5 ∘ o_6) + σ(o_7 + o_8))               how much of it is read
        c_t = tanh(c̃_t + c_{t-1}) ∘ u_t
        h_t = tanh(c_t ∘ v_t)

    As in the release of the authors (`NASCell` of TensorFlow Addons), which has no biases by
    default. Rows of the product in the order 1, 3, 6, 8 (σ), 5, 7 (tanh), 2, 4.

    Eight mixtures of input and state, combined in a tree. State: (h, c).
    """

    about = "cell found by neural architecture search (Zoph and Le 2016)"

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.state_sizes = (hidden_size, hidden_size)
        self.products = {
            # W feeds all rows except those of 4, whose input part is a factor: `factor`.
            "gates": Product(8 * hidden_size, 7 * hidden_size, hidden_size, partial=True),
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
