"""The LSTM whose input and state gate each other before each step (Melis, Kočiský, Blunsom 2020).

    x^{-1} = x_t, h^0 = h_{t-1}; for i = 1 … r:
    x^i = 2σ(Q^i h^{i-1}) ∘ x^{i-2}                          i odd
    h^i = 2σ(R^i x^{i-1}) ∘ h^{i-2}                          i even
    (h_t, c_t) = LSTM(x, (h, c_{t-1}))                       with the last x^i and h^i

With a rank k, Q^i and R^i are products of two thin matrices (k columns, k rows). The LSTM is that
of `lstm.py`, rows in the order i, f, g, o; its product reads x and h side by side, x first.
"""

from __future__ import annotations

import torch

from elman.cells.cell import Cell, Product, States, Step, Weights
from elman.errors import InputError


class Mogrifier(Cell):
    """What a word means depends on the state, and the other way round. State: (h, c)."""

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
            raise InputError(f"cell 'mogrifier' cannot do {rounds} rounds; 0 is a plain LSTM")
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
