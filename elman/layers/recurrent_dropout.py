"""Recurrent dropout around any cell: one mask of h for a whole sequence (Gal and Ghahramani 2016).

    every product that reads h_{t-1} reads m ∘ h_{t-1} instead        the same m at every step

m is zero with the rate, else 1 / (1 - rate), for each row and unit. What is carried and not
multiplied, the LSTM's c or the (1 - u) ∘ h_{t-1} of a GRU, stays whole: memory is never erased. All
gates share m (the authors' "tied" masks), and so do the depths of a recurrent highway network, as
in its authors' code. Gal and Ghahramani's own LSTM has a mask per gate, which would take one
product per gate instead of one for all.
"""

from __future__ import annotations

import torch

from elman.cells.cell import Cell, States, Step
from elman.layers.dropout import dropout
from elman.layers.wrapped_cell import WrappedCell


class RecurrentDropout(WrappedCell):
    """A cell in training whose products do not see all of its state.

    Made for one sequence: the masks are drawn when the first step asks for them.
    """

    def __init__(self, cell: Cell, rate: float) -> None:
        super().__init__(cell)
        self.rate = rate
        self._masks: dict[int, torch.Tensor] = {}

    def step(self, step: Step, state: States) -> States:
        hidden, *memory = state
        if memory:  # beside a memory, h is there for products only
            return self.cell.step(step, (self.mask(hidden), *memory))
        return self.cell.step(_MaskedStep(step, self), state)

    def mask(self, values: torch.Tensor) -> torch.Tensor:
        """The values (B, size) that stay, the same ones at every step."""
        size = values.shape[1]
        if size not in self._masks:
            self._masks[size] = dropout(torch.ones_like(values), self.rate, training=True)
        return values * self._masks[size]


class _MaskedStep:
    """The step that the engine offers, but products read through the mask."""

    def __init__(self, step: Step, masked: RecurrentDropout) -> None:
        self._step = step
        self._masked = masked

    @property
    def inputs(self) -> torch.Tensor:
        return self._step.inputs

    def product(self, name: str, state: torch.Tensor | None = None) -> torch.Tensor:
        return self._step.product(name, None if state is None else self._masked.mask(state))

    def weight(self, name: str) -> torch.Tensor:
        return self._step.weight(name)

    def record(self, **values: torch.Tensor) -> None:
        self._step.record(**values)
