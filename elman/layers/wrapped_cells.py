"""Cells that wrap a cell and change its steps: recurrent dropout, masks per gate, zoneout."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from elman.cells.cell import Cell, Product, States, Step, Weights
from elman.errors import InputError
from elman.layers.dropout import dropout


class WrappedCell(Cell):
    """A cell that wraps a cell and changes its steps.

    It is made for one run, which costs nothing: it uses the weights and states of the wrapped cell.
    A subclass overrides `step`. It has no kernel, so the engine always runs it step by step.
    """

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

    def product_inputs(self, inputs: torch.Tensor) -> dict[str, torch.Tensor] | None:
        return self.cell.product_inputs(inputs)


class RecurrentDropout(WrappedCell):
    """Recurrent dropout around any cell: one mask of h for a whole sequence (Gal and Ghahramani
    2016).

        every product that reads h_{t-1} reads m ∘ h_{t-1} instead        the same m at every step

    m is zero with probability `rate`, otherwise 1 / (1 - rate), for each row and unit. Parts of the
    state outside products (c of an LSTM, (1 - u) ∘ h_{t-1} of a GRU) are not dropped.
    All gates share m (the authors' "tied" masks), and so do the depths of a recurrent highway
    network, as in its authors' code. `GateDropout` has masks for each gate.

    Made for one sequence: the first step draws the masks.
    """

    def __init__(self, cell: Cell, rate: float) -> None:
        super().__init__(cell)
        self.rate = rate
        self._masks: dict[int, torch.Tensor] = {}

    def step(self, step: Step, state: States) -> States:
        hidden, *memory = state
        if memory:  # in cells with a memory, only products use h
            return self.cell.step(step, (self.mask(hidden), *memory))
        return self.cell.step(_MaskedStep(step, self), state)

    def mask(self, values: torch.Tensor) -> torch.Tensor:
        """Apply the mask to values (B, size); the mask is the same at every step."""
        size = values.shape[1]
        if size not in self._masks:
            self._masks[size] = dropout(torch.ones_like(values), self.rate, training=True)
        return values * self._masks[size]


class WrappedStep:
    """A step of the engine that subclasses change."""

    def __init__(self, step: Step) -> None:
        self._step = step

    @property
    def inputs(self) -> torch.Tensor:
        return self._step.inputs

    def product(self, name: str, state: torch.Tensor | None = None) -> torch.Tensor:
        return self._step.product(name, state)

    def weight(self, name: str) -> torch.Tensor:
        return self._step.weight(name)

    def record(self, **values: torch.Tensor) -> None:
        self._step.record(**values)


class _MaskedStep(WrappedStep):
    """A step whose products read the masked state."""

    def __init__(self, step: Step, masked: RecurrentDropout) -> None:
        super().__init__(step)
        self._masked = masked

    def product(self, name: str, state: torch.Tensor | None = None) -> torch.Tensor:
        return super().product(name, None if state is None else self._masked.mask(state))


class GateDropout(WrappedCell):
    """Dropout with separate masks for each gate, the same at every step (Gal and Ghahramani 2016,
    "untied weights").

        gate k = f(W_k (m_k ∘ x_t) + U_k (n_k ∘ h_{t-1}) + b_k)        m_k and n_k for each gate

    A gate is `hidden_size` rows of a product. So each product of the cell becomes one product per
    gate, whose weights are rows of those of the cell (`split`): as many multiplications as before,
    in smaller matrices. Inputs that the cell uses outside products have a mask of their own.

    Made for one sequence: every mask is drawn when it is first used.
    """

    def __init__(self, cell: Cell, input_rate: float, state_rate: float) -> None:
        super().__init__(cell)
        self.input_masks = Masks(input_rate)
        self.state_masks = Masks(state_rate)
        self.gates = {name: _gates(name, cell) for name in cell.products}
        self.products = {gate.name: gate.product for gates in self.gates.values() for gate in gates}

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return Cell.shapes(self)

    def split(self, weights: Weights) -> Weights:
        """The weights of the cell, cut into those of its gates."""
        pieces = {name: weights[name] for name in self.own_weights}
        for name, gates in self.gates.items():
            for part in ("input", "state", "bias", "state_bias"):
                whole = weights.get(f"{name}_{part}")
                if whole is not None:
                    pieces |= {f"{gate.name}_{part}": gate.rows_of(whole) for gate in gates}
        return pieces

    def product_inputs(self, inputs: torch.Tensor) -> dict[str, torch.Tensor] | None:
        if not self.input_masks.rate:
            return None
        return {
            name: self.input_masks.apply(name, inputs)
            for name, product in self.products.items()
            if product.input_rows
        }

    def step(self, step: Step, state: States) -> States:
        return self.cell.step(_GateStep(step, self), state)


class Masks:
    """Dropout masks by name: each is drawn when it is first used, and stays the same."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.drawn: dict[str, torch.Tensor] = {}

    def apply(self, name: str, values: torch.Tensor) -> torch.Tensor:
        """The values (B, size) or (T, B, size) through the mask of that name, (B, size)."""
        if not self.rate:
            return values
        if name not in self.drawn:
            self.drawn[name] = dropout(values.new_ones(values.shape[-2:]), self.rate, training=True)
        return values * self.drawn[name]


@dataclass(frozen=True)
class _Gate:
    """Some rows of a product, as a product of their own."""

    name: str
    first: int  # row
    product: Product

    def rows_of(self, weight: torch.Tensor) -> torch.Tensor:
        """Its rows of a weight of the whole product."""
        return weight[self.first : self.first + self.product.rows]


def _gates(name: str, cell: Cell) -> list[_Gate]:
    """The gates of a product: `hidden_size` rows each, or all rows if they are not gates."""
    whole = cell.products[name]
    rows = whole.rows if whole.rows % cell.hidden_size else cell.hidden_size
    return [
        _Gate(
            f"{name}_{number}",
            first,
            replace(whole, rows=rows, input_rows=min(max(whole.input_rows - first, 0), rows)),
        )
        for number, first in enumerate(range(0, whole.rows, rows), 1)
    ]


def has_gates(cell: Cell) -> bool:
    """Whether its products read inputs and state separately, so that each can have its masks."""
    return all(p.state_size in (0, cell.state_sizes[0]) for p in cell.products.values())


class _GateStep(WrappedStep):
    """A step whose products are computed gate by gate."""

    def __init__(self, step: Step, masked: GateDropout) -> None:
        super().__init__(step)
        self._masked = masked

    @property
    def inputs(self) -> torch.Tensor:
        return self._masked.input_masks.apply("inputs", super().inputs)

    def product(self, name: str, state: torch.Tensor | None = None) -> torch.Tensor:
        gates = [gate.name for gate in self._masked.gates[name]]
        if state is None:
            return torch.cat([self._step.product(gate) for gate in gates], dim=1)
        masks = self._masked.state_masks
        return torch.cat(
            [self._step.product(gate, masks.apply(gate, state)) for gate in gates], dim=1
        )


class Zoneout(WrappedCell):
    """Zoneout around any cell (Krueger et al. 2017): units randomly keep their old value.

        training      s_t = d_t ∘ s_{t-1} + (1 - d_t) ∘ s̃_t    d_t ~ Bernoulli(rate), fresh per step
        evaluation    s_t = rate · s_{t-1} + (1 - rate) · s̃_t  its expectation

    s̃ is the new value that the cell computes, for each of its states; h̃_t of an LSTM is computed
    from c̃_t, as in the paper. There is no rescaling, because kept values are not zero.

    Training or evaluation is fixed at construction. Traces show the values of the wrapped cell; the
    outputs show the values after zoneout.
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
        """Combine the old and new values of one state tensor."""
        if rate == 0:
            return new
        if self.training:
            keep = torch.empty_like(new, dtype=torch.bool).bernoulli_(rate)
            return torch.where(keep, old, new)
        return torch.lerp(new, old, rate)


def _rates_per_state(rates: float | tuple[float, ...], states: int) -> tuple[float, ...]:
    """One valid rate for each tensor of the state."""
    each = rates if isinstance(rates, tuple) else (rates,) * states
    if len(each) != states:
        raise InputError(f"zoneout={list(each)}: the cell has {states} states, give one rate each")
    if not all(0 <= rate <= 1 for rate in each):
        raise InputError(f"zoneout={rates}: must be from 0 to 1")
    return each
