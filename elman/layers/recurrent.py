"""A cell together with its weights, reading in one direction.

Takes inputs (B, T, input_size) and a state, gives outputs and the new state. Modules hold only
parameters; the state is passed explicitly.
"""

from __future__ import annotations

import torch
from torch import nn

from elman.cells.cell import Cell, Run, States, Step, Weights, check_products
from elman.cells.elman_rnn import ElmanRNN
from elman.cells.engine import run
from elman.cells.gru import TorchGRU
from elman.cells.lstm import LSTM
from elman.cells.stepping import Frozen, Stepper
from elman.errors import InputError
from elman.layers.dropout import check_rate, dropout, in_one_network


class WrappedCell(Cell):
    """A cell that wraps a cell and changes its steps: recurrent dropout or zoneout.

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


class RecurrentDropout(WrappedCell):
    """Recurrent dropout around any cell: one mask of h for a whole sequence (Gal and Ghahramani
    2016).

        every product that reads h_{t-1} reads m ∘ h_{t-1} instead        the same m at every step

    m is zero with probability `rate`, otherwise 1 / (1 - rate), for each row and unit. Parts of the
    state outside products (c of an LSTM, (1 - u) ∘ h_{t-1} of a GRU) are not dropped.
    All gates share m (the authors' "tied" masks), and so do the depths of a recurrent highway
    network, as in its authors' code. Gal and Ghahramani's own LSTM has a mask per gate, which would
    take one product per gate instead of one for all.

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


class Recurrent(nn.Module):
    """One cell, one direction.

    `zoneout`: the probability that a unit keeps its value, or one per state; `recurrent_dropout`:
    the share of state units that products do not see.
    """

    def __init__(
        self,
        cell: Cell,
        *,
        zoneout: float | tuple[float, ...] = 0.0,
        recurrent_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_rate(recurrent_dropout, "recurrent_dropout")
        check_products(cell)
        self.cell = cell
        self.zoneout = Zoneout(cell, zoneout, training=False).rates
        self.recurrent_dropout = recurrent_dropout
        self.output_size = cell.state_sizes[0]
        self.weights = nn.ParameterDict(
            {name: nn.Parameter(torch.empty(shape)) for name, shape in cell.shapes().items()}
        )
        with torch.no_grad():
            cell.initialise(self.own_weights())
        self._stepper: Frozen[Stepper] | None = None

    def step_in_eight_bits(self) -> None:
        """Use eight-bit weights in single steps until the weights change."""
        own = self.own_weights()
        self._stepper = Frozen(Stepper(self.cell, own, int8=True), *own.values())

    def own_weights(self) -> dict[str, torch.Tensor]:
        """The parameters, by their names in the cell."""
        return dict(self.weights.items())

    def recurrent_names(self) -> list[str]:
        """Names of the recurrent matrices U."""
        return [f"{name}_state" for name, part in self.cell.products.items() if part.state_size]

    def start(self, batch_size: int) -> States:
        """The initial state."""
        return self.cell.start(batch_size, next(self.parameters()))

    def forward(
        self,
        inputs: torch.Tensor,
        state: States | None = None,
        *,
        lengths: torch.Tensor | None = None,
        reverse: bool = False,
        trace: bool = False,
        weights: Weights | None = None,
        outputs_only: bool = False,
    ) -> Run:
        """Read (B, T, input_size); `weights` replace the parameters for this call."""
        plain = lengths is None and weights is None and not (trace or reverse)
        if self._stepper is not None and plain and inputs.shape[1] == 1:
            stepper = self._stepper.of(*self.own_weights().values())
            if stepper is not None and not self.training and not any(self.zoneout):
                before = self.start(len(inputs)) if state is None else state
                after = stepper.step(inputs[:, 0], before)
                return Run(after[0].unsqueeze(1), after)
        return run(
            self.regularised(),
            self.own_weights() if weights is None else weights,
            inputs,
            state,
            lengths=lengths,
            reverse=reverse,
            trace=trace,
            outputs_only=outputs_only,
        )

    def regularised(self) -> Cell:
        """The cell for one run; zoneout keeps values without the recurrent dropout."""
        cell = self.cell
        if self.recurrent_dropout and self.training:
            cell = RecurrentDropout(cell, self.recurrent_dropout)
        if any(self.zoneout):
            cell = Zoneout(cell, self.zoneout, training=self.training and not in_one_network())
        return cell


def from_torch(module: nn.RNNBase, layer: int = 0, reverse: bool = False) -> Recurrent:
    """One layer and direction of an `nn.RNN`, `nn.LSTM` or `nn.GRU`, with a copy of its weights.

    The two biases of PyTorch become their sum, except in the candidate of a GRU.
    """
    suffix = f"_l{layer}" + ("_reverse" if reverse else "")
    given = {
        name.removesuffix(suffix): weight.detach()
        for name, weight in module.named_parameters()
        if name.endswith(suffix)
    }
    if not given:
        raise InputError(f"the {type(module).__name__} has no weights that end in {suffix!r}")
    recurrent = Recurrent(_cell_like(module, given["weight_ih"].shape[1]))
    recurrent.to(given["weight_ih"])
    with torch.no_grad():
        for name, weight in _renamed(module, given).items():
            recurrent.weights[name].copy_(weight)
    return recurrent


def _cell_like(module: nn.RNNBase, input_size: int) -> Cell:
    """The cell that is equivalent to a PyTorch module."""
    if isinstance(module, nn.LSTM):
        return LSTM(input_size, module.hidden_size, projection=module.proj_size or None)
    if isinstance(module, nn.GRU):
        return TorchGRU(input_size, module.hidden_size)
    if isinstance(module, nn.RNN):
        return ElmanRNN(input_size, module.hidden_size, activation=module.nonlinearity)
    raise TypeError(f"expected an nn.RNN, nn.LSTM or nn.GRU, not {type(module).__name__}")


def _renamed(module: nn.RNNBase, given: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The weights of PyTorch under the names of the cell. Gates have the same row order."""
    none = given["weight_hh"].new_zeros(len(given["weight_hh"]))
    bias, state_bias = given.get("bias_ih", none), given.get("bias_hh", none)
    if isinstance(module, nn.GRU):
        size = 2 * module.hidden_size  # rows of the two gates; below them, the candidate's
        return {
            "gates_input": given["weight_ih"][:size],
            "gates_state": given["weight_hh"],
            "gates_bias": torch.cat([bias[:size] + state_bias[:size], state_bias[size:]]),
            "candidate_input": given["weight_ih"][size:],
            "candidate_bias": bias[size:],
        }
    product = "gates" if isinstance(module, nn.LSTM) else "hidden"
    weights = {
        f"{product}_input": given["weight_ih"],
        f"{product}_state": given["weight_hh"],
        f"{product}_bias": bias + state_bias,
    }
    return weights | ({"projection": given["weight_hr"]} if "weight_hr" in given else {})
