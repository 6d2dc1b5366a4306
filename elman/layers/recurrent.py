"""A cell together with its weights, reading in one direction.

Takes inputs (B, T, input_size) and a state, gives outputs and the new state. Modules hold only
parameters; the state is passed explicitly.
"""

from __future__ import annotations

import torch
from torch import nn

from elman.cells.cell import Cell, Run, States, Weights, check_products
from elman.cells.elman_rnn import ElmanRNN
from elman.cells.engine import run
from elman.cells.gru import TorchGRU
from elman.cells.lstm import LSTM
from elman.cells.stepping import Frozen, Stepper, Way
from elman.errors import InputError
from elman.layers.dropout import check_rate, in_one_network
from elman.layers.wrapped_cells import GateDropout, RecurrentDropout, Zoneout


class Recurrent(nn.Module):
    """One cell, one direction.

    `zoneout`: the probability that a unit keeps its value, or one per state; `recurrent_dropout`:
    the share of state units that products do not see; `gate_dropout`: the share of input units that
    a gate does not see, with masks of inputs and state for each gate. None: all gates share the
    mask of the state, and the inputs are not dropped here.
    """

    def __init__(
        self,
        cell: Cell,
        *,
        zoneout: float | tuple[float, ...] = 0.0,
        recurrent_dropout: float = 0.0,
        gate_dropout: float | None = None,
    ) -> None:
        super().__init__()
        check_rate(recurrent_dropout, "recurrent_dropout")
        check_rate(gate_dropout or 0.0, "gate_dropout")
        check_products(cell)
        self.cell = cell
        self.zoneout = Zoneout(cell, zoneout, training=False).rates
        self.recurrent_dropout = recurrent_dropout
        self.gate_dropout = gate_dropout
        self.output_size = cell.state_sizes[0]
        self.weights = nn.ParameterDict(
            {name: nn.Parameter(torch.empty(shape)) for name, shape in cell.shapes().items()}
        )
        with torch.no_grad():
            cell.initialise(self.own_weights())
        self._stepper: Frozen[Stepper] | None = None
        self._way: Way = "one"

    def prepare_steps(self, way: Way) -> None:
        """Compute single steps in this way until the weights change."""
        own = self.own_weights()
        if self._stepper is None or self._way != way or not self._stepper.fits(*own.values()):
            stepper = Stepper(self.cell, own, way, copies=False)
            self._stepper, self._way = Frozen(stepper, *own.values()), way

    @property
    def stepper(self) -> Stepper:
        """The prepared step."""
        found = None if self._stepper is None else self._stepper.of(*self.own_weights().values())
        assert found is not None, "prepare_steps comes first"
        return found

    @property
    def steps_alike(self) -> bool:
        """Whether a row of a step, prepared as `alike`, has the same bits in every batch."""
        return self.cell.steps_alike and not any(self.zoneout)

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
            *self.regularised(self.own_weights() if weights is None else weights),
            inputs,
            state,
            lengths=lengths,
            reverse=reverse,
            trace=trace,
            outputs_only=outputs_only,
        )

    def regularised(self, weights: Weights) -> tuple[Cell, Weights]:
        """The cell for one run, and the weights as it uses them.

        Zoneout keeps values without the recurrent dropout.
        """
        cell = self.cell
        dropped = self.training and (self.recurrent_dropout or self.gate_dropout)
        if dropped and self.gate_dropout is not None:
            gates = GateDropout(cell, self.gate_dropout, self.recurrent_dropout)
            cell, weights = gates, gates.split(weights)
        elif dropped:
            cell = RecurrentDropout(cell, self.recurrent_dropout)
        if any(self.zoneout):
            cell = Zoneout(cell, self.zoneout, training=self.training and not in_one_network())
        return cell, weights


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
