"""Zoneout (Krueger et al. 2017): units that keep their old value, around any cell.

    training      s_t = d_t ∘ s_{t-1} + (1 - d_t) ∘ s̃_t        d_t ~ Bernoulli(rate), fresh per step
    evaluation    s_t = rate · s_{t-1} + (1 - rate) · s̃_t      its expectation

s̃ is what the cell proposes, for each of its states; the LSTM's h̃_t comes from c̃_t, as in the
paper. Nothing is rescaled: a kept value is a value, not a zero.
"""

from __future__ import annotations

import torch

from elman.cells.cell import Cell, States, Step
from elman.errors import InputError
from elman.layers.wrapped_cell import WrappedCell


class Zoneout(WrappedCell):
    """A cell that keeps some of its old values.

    Whether it is training is fixed when it is made. A trace shows what the cell inside proposes;
    the outputs show what became of it.
    """

    def __init__(self, cell: Cell, rates: float | tuple[float, ...], *, training: bool) -> None:
        super().__init__(cell)
        self.training = training
        self.rates = _rates_per_state(rates, len(cell.state_sizes))

    def step(self, step: Step, state: States) -> States:
        proposed = self.cell.step(step, state)
        return tuple(
            self.mix(old, new, rate)
            for old, new, rate in zip(state, proposed, self.rates, strict=True)
        )

    def mix(self, old: torch.Tensor, new: torch.Tensor, rate: float) -> torch.Tensor:
        """Old and new values of one state tensor, put together."""
        if rate == 0:
            return new
        if self.training:
            keep = torch.empty_like(new, dtype=torch.bool).bernoulli_(rate)
            return torch.where(keep, old, new)
        return torch.lerp(new, old, rate)


def _rates_per_state(rates: float | tuple[float, ...], states: int) -> tuple[float, ...]:
    """One rate for each tensor of the state, checked."""
    each = rates if isinstance(rates, tuple) else (rates,) * states
    if len(each) != states:
        raise InputError(f"zoneout={list(each)}: the cell has {states} states, give one rate each")
    if not all(0 <= rate <= 1 for rate in each):
        raise InputError(f"zoneout={rates}: must be from 0 to 1")
    return each
