"""Three cells found by mutating the GRU (Józefowicz, Zaremba and Sutskever 2015)."""

from __future__ import annotations

import torch

from elman.cells.cell import Cell, Product, States, Step
from elman.errors import InputError


class MUT1(Cell):
    """The first of three cells found by mutating the GRU (Józefowicz, Zaremba and Sutskever 2015).

        z_t = σ(W_z x_t + b_z)                                   update gate: reads the input only
        r_t = σ(W_r x_t + U_r h_{t-1} + b_r)                     reset gate
        h̃_t = tanh(U_h (r_t ∘ h_{t-1}) + tanh(x_t) + b_h)
        h_t = z_t ∘ h̃_t + (1 - z_t) ∘ h_{t-1}

    x_t enters the candidate as it is, so it must be as long as h_t.
    """

    about = "first mutation of the GRU (Józefowicz et al. 2015): needs inputs of the hidden size"

    def __init__(self, input_size: int, hidden_size: int) -> None:
        if input_size != hidden_size:
            raise InputError(
                f"cell 'mut1' adds its input to its state: input size {input_size} must equal "
                f"hidden size {hidden_size}"
            )
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


class MUT2(Cell):
    """The second of three cells found by mutating the GRU (Józefowicz, Zaremba and Sutskever 2015).

        z_t = σ(W_z x_t + U_z h_{t-1} + b_z)                     update gate
        r_t = σ(x_t + U_r h_{t-1} + b_r)                         reset gate
        h̃_t = tanh(W_h x_t + U_h (r_t ∘ h_{t-1}) + b_h)
        h_t = z_t ∘ h̃_t + (1 - z_t) ∘ h_{t-1}

    x_t enters the reset gate as it is, so it must be as long as h_t.
    """

    about = "second mutation of the GRU (Józefowicz et al. 2015): needs inputs of the hidden size"

    def __init__(self, input_size: int, hidden_size: int) -> None:
        if input_size != hidden_size:
            raise InputError(
                f"cell 'mut2' adds its input to its state: input size {input_size} must equal "
                f"hidden size {hidden_size}"
            )
        super().__init__(input_size, hidden_size)
        self.products = {
            # Rows in the order z, r; W feeds z only.
            "gates": Product(2 * hidden_size, hidden_size, hidden_size),
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
