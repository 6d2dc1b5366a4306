"""Variants of the LSTM: ablations, peepholes, and the mogrifier."""

from __future__ import annotations

from typing import Any

import torch

from elman.cells.cell import Cell, Product, States, Step, Weights
from elman.cells.lstm import LSTM, Activated
from elman.errors import InputError


class _Ablated(LSTM):
    """The LSTM without one gate (Józefowicz, Zaremba and Sutskever 2015).

    Everything else is as in `lstm.py`; the product lacks the rows of the missing gate.
    """

    def activate(self, product: torch.Tensor) -> Activated:
        first = self.gates.index("g")  # gates before the candidate are neighbours: one sigmoid
        last = len(self.gates) - first - 1
        before, candidate, after = product.split_with_sizes(
            [part * self.hidden_size for part in (first, 1, last)], dim=1
        )
        gates = dict(zip(self.gates, torch.sigmoid(before).chunk(first, dim=1), strict=False))
        output_gate = torch.sigmoid(after) if last else None
        return gates.get("i"), gates.get("f"), torch.tanh(candidate), output_gate


class NoForgetLSTM(_Ablated):
    """LSTM-f, no forget gate: the cell only ever adds, c_t = c_{t-1} + i_t ∘ g_t."""

    about = "LSTM without its forget gate (Józefowicz et al. 2015)"
    gates = "igo"


class NoInputLSTM(_Ablated):
    """LSTM-i, no input gate: every candidate is written, c_t = f_t ∘ c_{t-1} + g_t."""

    about = "LSTM without its input gate (Józefowicz et al. 2015)"
    gates = "fgo"


class NoOutputLSTM(_Ablated):
    """LSTM-o, no output gate: the whole cell is read, h_t = tanh(c_t)."""

    about = "LSTM without its output gate (Józefowicz et al. 2015)"
    gates = "ifg"


class BiasedLSTM(LSTM):
    """LSTM-b: the LSTM of `lstm.py`, with 1 added to the initial bias of the forget gate f_t."""

    about = "LSTM whose forget gate starts with a bias of 1 (Józefowicz et al. 2015)"

    def __init__(
        self, input_size: int, hidden_size: int, *, forget_bias: float = 1.0, **options: Any
    ) -> None:
        super().__init__(input_size, hidden_size, forget_bias=forget_bias, **options)


class Peephole(Cell):
    """The LSTM whose gates see the cell through peepholes (Gers and Schmidhuber 2000).

        i_t = σ(W_i x_t + U_i h_{t-1} + p_i ∘ c_{t-1} + b_i)
        f_t = σ(W_f x_t + U_f h_{t-1} + p_f ∘ c_{t-1} + b_f)
        g_t = tanh(W_g x_t + U_g h_{t-1} + b_g)
        c_t = f_t ∘ c_{t-1} + i_t ∘ g_t
        o_t = σ(W_o x_t + U_o h_{t-1} + p_o ∘ c_t + b_o)         the new cell, not the old
        h_t = o_t ∘ tanh(c_t)

    A peephole is one weight per unit. Rows of the product in the order i, f, g, o, as in `lstm.py`.
    State: (h, c).
    """

    about = "LSTM with peepholes from the cell to its gates (Gers and Schmidhuber 2000)"

    def __init__(self, input_size: int, hidden_size: int, *, forget_bias: float = 0.0) -> None:
        super().__init__(input_size, hidden_size)
        self.forget_bias = forget_bias
        self.state_sizes = (hidden_size, hidden_size)
        rows = 4 * hidden_size
        self.products = {"gates": Product(rows, rows, hidden_size)}
        # p_i and p_f together, because they read the same cell.
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


class Mogrifier(Cell):
    """The LSTM whose input and state gate each other before each step (Melis et al. 2020).

        x^{-1} = x_t, h^0 = h_{t-1}; for i = 1 … r:
        x^i = 2σ(Q^i h^{i-1}) ∘ x^{i-2}                          i odd
        h^i = 2σ(R^i x^{i-1}) ∘ h^{i-2}                          i even
        (h_t, c_t) = LSTM(x, (h, c_{t-1}))                       with the last x^i and h^i

    With a rank k, Q^i and R^i are products of two thin matrices (k columns, k rows). The LSTM is
    that of `lstm.py`, rows in the order i, f, g, o; its product reads x and h side by side, x
    first.

    The input vector depends on the state, and the state on the input. State: (h, c).
    """

    about = "mogrifier LSTM (Melis et al. 2020): input and state gate each other first"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        rounds: int = 5,
        rank: int | None = None,
        forget_bias: float = 0.0,
    ) -> None:
        if rounds < 0:
            raise InputError(
                f"cell 'mogrifier': rounds={rounds} must be 0 or more; 0 is a plain LSTM"
            )
        if rank is not None and rank < 1:
            raise InputError(f"cell 'mogrifier' needs a rank of at least 1, not {rank}")
        super().__init__(input_size, hidden_size)
        self.rounds = rounds
        self.rank = rank
        self.forget_bias = forget_bias
        self.state_sizes = (hidden_size, hidden_size)
        self.products = {"gates": Product(4 * hidden_size, 0, input_size + hidden_size)}
        for number in range(1, rounds + 1):
            rows, size = (input_size, hidden_size) if number % 2 else (hidden_size, input_size)
            if rank is None:
                self.products[f"round{number}"] = Product(rows, 0, size, bias=False)
            else:
                self.products[f"round{number}_in"] = Product(rank, 0, size, bias=False)
                self.products[f"round{number}_out"] = Product(rows, 0, rank, bias=False)

    def initialise(self, weights: Weights) -> None:
        super().initialise(weights)
        weights["gates_bias"][self.hidden_size : 2 * self.hidden_size] += self.forget_bias

    def step(self, step: Step, state: States) -> States:
        hidden, memory = state
        inputs, hidden = self.mogrify(step, step.inputs, hidden)
        size = self.hidden_size
        gates = step.product("gates", torch.cat([inputs, hidden], dim=1))
        in_and_forget, candidate, out = gates.split_with_sizes([2 * size, size, size], dim=1)
        input_gate, forget_gate = torch.sigmoid(in_and_forget).chunk(2, dim=1)
        candidate, output_gate = torch.tanh(candidate), torch.sigmoid(out)
        memory = torch.addcmul(forget_gate * memory, input_gate, candidate)
        step.record(mogrified_input=inputs, mogrified_hidden=hidden)
        hidden = output_gate * torch.tanh(memory)
        step.record(hidden=hidden, cell=memory, candidate=candidate)
        step.record(input=input_gate, forget=forget_gate, output=output_gate)
        return hidden, memory

    def mogrify(
        self, step: Step, inputs: torch.Tensor, hidden: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """x and h after all rounds."""
        for number in range(1, self.rounds + 1):
            if number % 2:
                inputs = 2 * torch.sigmoid(self.look(step, number, hidden)) * inputs
            else:
                hidden = 2 * torch.sigmoid(self.look(step, number, inputs)) * hidden
        return inputs, hidden

    def look(self, step: Step, number: int, other: torch.Tensor) -> torch.Tensor:
        """Q^i h or R^i x."""
        if self.rank is None:
            return step.product(f"round{number}", other)
        return step.product(f"round{number}_out", step.product(f"round{number}_in", other))
