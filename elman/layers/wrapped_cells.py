"""Cells around cells, which change a recurrence from outside: recurrent dropout and zoneout.

Made by `recurrent.py` for one run at a time, which costs nothing: they have the weights and the
states of the cell inside. A class says in `step` what it changes; it has no kernel, so the engine
always runs it step by step.
"""

from __future__ import annotations

import torch

from elman.cells.cell import Cell, States, Step, Weights
from elman.errors import InputError
from elman.layers.dropout import dropout


class WrappedCell(Cell):
    """As the cell inside, but for its steps."""

    def __init__(self, cell: Cell) -> None:
        super().__init__(cell.input_size, cell.hidden_size)
        self.cell = cell
        self.products = cell.products
        self.own_weights = cell.own_weights
        self.state_sizes = cell.state_sizes

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return self.cell.shapes()

    def initialise(self, weights: Weights) -> None:
        self.cell.initialise(weights)

    def start(self, batch_size: int, like: torch.Tensor) -> States:
        return self.cell.start(batch_size, like)


class RecurrentDropout(WrappedCell):
    """Recurrent dropout around any cell: one mask of h for a whole sequence (Gal and Ghahramani
    2016).

        every product that reads h_{t-1} reads m ∘ h_{t-1} instead        the same m at every step

    m is zero with the rate, else 1 / (1 - rate), for each row and unit. What is carried and not
    multiplied, the LSTM's c or the (1 - u) ∘ h_{t-1} of a GRU, stays whole: memory is never erased.
    All gates share m (the authors' "tied" masks), and so do the depths of a recurrent highway
    network, as in its authors' code. Gal and Ghahramani's own LSTM has a mask per gate, which would
    take one product per gate instead of one for all.

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


class Zoneout(WrappedCell):
    """Zoneout (Krueger et al. 2017): units that keep their old value, around any cell.

        training      s_t = d_t ∘ s_{t-1} + (1 - d_t) ∘ s̃_t    d_t ~ Bernoulli(rate), fresh per step
        evaluation    s_t = rate · s_{t-1} + (1 - rate) · s̃_t  its expectation

    s̃ is what the cell proposes, for each of its states; the LSTM's h̃_t comes from c̃_t, as in the
    paper. Nothing is rescaled: a kept value is a value, not a zero.

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
