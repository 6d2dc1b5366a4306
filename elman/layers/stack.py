"""A stack of recurrent layers: the body of every recurrent model.

    inputs ── layer 1 ── layer 2 ── … ── raw outputs ── dropout ── outputs

`layer.py` shows one layer. With three LSTM layers of 1150, 1150 and 400 units, weight-drop and
locked dropout, this is the body of AWD-LSTM (Merity et al. 2018); with two layers and plain
dropout, that of Zaremba et al. 2014.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import nn

from elman.cells import CELLS
from elman.cells.cell import States, check_inputs
from elman.config import at_least, check_types
from elman.errors import InputError
from elman.layers.dropout import check_rate, dropout, locked_dropout
from elman.layers.layer import CONNECTIONS, Layer, Trace
from elman.layers.recurrent import Recurrent
from elman.layers.wrapped_cells import has_gates
from elman.registry import check_options
from elman.state import State

_RATES = ("dropout_input", "dropout_hidden", "dropout_output", "weight_drop", "recurrent_dropout")

_MOST_LAYERS = 1_000


@dataclass(kw_only=True)
class StackConfig:
    """Settings of a stack of recurrent layers."""

    cell: str = "lstm"  # elman list cells
    options: dict[str, Any] = field(default_factory=dict)  # like forget_bias = 1.0
    num_layers: int = 1  # number of layers
    hidden_size: int | tuple[int, ...] = 200  # units per direction; a list: one number per layer
    bidirectional: bool = False  # read in both directions; not for generation
    connection: str = "none"  # elman list connections
    layer_norm: bool = False  # normalise the input of each layer
    dropout_input: float = 0.0  # dropout of the input of the first layer
    dropout_hidden: float = 0.0  # dropout of the input of the other layers
    dropout_output: float = 0.0  # dropout of the output of the last layer
    locked: bool = True  # one dropout mask for all steps of a sequence
    weight_drop: float = 0.0  # DropConnect of the recurrent weights
    recurrent_dropout: float = 0.0  # dropout of the state in products; one mask per sequence
    masks_per_gate: bool = False  # separate dropout masks of inputs and state for each gate
    zoneout: float | tuple[float, ...] = 0.0  # share of units that keep their value, or a list

    def __post_init__(self) -> None:
        check_types(self)
        self.options = check_options(CELLS, self.cell, self.options)
        CONNECTIONS.check(self.connection)
        for name in _RATES:
            check_rate(getattr(self, name), name)
        if self.masks_per_gate and not self.locked:
            raise InputError(
                "masks_per_gate=true: the masks are the same at every step; set locked=true"
            )
        at_least(self.num_layers, 1, "num_layers")
        if self.num_layers > _MOST_LAYERS:
            raise InputError(f"num_layers={self.num_layers}: must be at most {_MOST_LAYERS:,}")
        if len(self.sizes()) != self.num_layers:
            raise InputError(
                f"hidden_size={list(self.sizes())}: num_layers={self.num_layers} needs as many"
            )
        if min(self.sizes()) < 1:
            raise InputError(f"hidden_size={self.hidden_size}: must be at least 1")

    def sizes(self) -> tuple[int, ...]:
        """Units of each layer, per direction."""
        if isinstance(self.hidden_size, tuple):
            return self.hidden_size
        return (self.hidden_size,) * self.num_layers

    def input_rates(self) -> tuple[float, ...]:
        """Dropout of the input of each layer."""
        return (self.dropout_input, *[self.dropout_hidden] * (self.num_layers - 1))


@dataclass
class StackRun:
    """The result of running a stack over time."""

    outputs: torch.Tensor  # (B, T, output_size), after dropout
    layers: tuple[torch.Tensor, ...]  # the output of each layer, (B, T, its size), without dropout
    state: State  # per layer, per direction, per tensor of the cell's state; batch first
    trace: tuple[tuple[Trace, ...], ...] | None = None  # per layer, per direction

    @property
    def raw_outputs(self) -> torch.Tensor:
        """The outputs before dropout."""
        return self.layers[-1]


class Stack(nn.Module):
    """A stack of layers with one kind of cell."""

    def __init__(self, input_size: int, config: StackConfig) -> None:
        super().__init__()
        at_least(input_size, 1, "input_size")
        self.config = config
        self.input_size = input_size
        layers: list[Layer] = []
        for hidden_size, rate in zip(config.sizes(), config.input_rates(), strict=True):
            layers.append(_build_layer(input_size, hidden_size, config, rate))
            input_size = layers[-1].size
        self.layers = cast("Sequence[Layer]", nn.ModuleList(layers))
        self.output_size = input_size

    def start(self, batch_size: int) -> State:
        """The initial state."""
        return tuple(layer.start(batch_size) for layer in self.layers)

    def forward(
        self,
        inputs: torch.Tensor,
        state: State | None = None,
        *,
        lengths: torch.Tensor | None = None,
        trace: bool = False,
        outputs_only: bool = False,
    ) -> StackRun:
        """Read (B, T, input_size). With lengths (B,), everything beyond them is ignored.

        `outputs_only`: do not return the new state, which may be faster.
        """
        check_inputs(inputs, self.input_size)
        states = cast("tuple[tuple[States, ...], ...] | None", state)
        if states is not None and len(states) != len(self.layers):
            raise ValueError(f"state of {len(states)} layers: the stack has {len(self.layers)}")
        handed_on = inputs
        runs = []
        rates = self.config.input_rates()
        for number, layer in enumerate(self.layers):
            rate = 0.0 if self.config.masks_per_gate else rates[number]  # gates drop their inputs
            before = None if states is None else states[number]
            run = layer(
                handed_on,
                before,
                lambda values, rate=rate: self.drop(values, rate),
                lengths=lengths,
                trace=trace,
                outputs_only=outputs_only,
            )
            runs.append(run)
            handed_on = run.outputs
        return StackRun(
            outputs=self.drop(handed_on, self.config.dropout_output),
            layers=tuple(run.outputs for run in runs),
            state=tuple(run.state for run in runs),
            trace=tuple(run.trace for run in runs) if trace else None,
        )

    def drop(self, values: torch.Tensor, rate: float) -> torch.Tensor:
        """Dropout of (B, T, size), one mask for all steps or one for each; in training only."""
        kind = locked_dropout if self.config.locked else dropout
        return kind(values, rate, self.training)


def _build_layer(input_size: int, hidden_size: int, config: StackConfig, rate: float) -> Layer:
    directions = [
        Recurrent(
            CELLS[config.cell](input_size, hidden_size, **config.options),
            zoneout=config.zoneout,
            recurrent_dropout=config.recurrent_dropout,
            gate_dropout=rate if config.masks_per_gate else None,
        )
        for _ in range(2 if config.bidirectional else 1)
    ]
    for name in ("weight_drop", "recurrent_dropout"):
        rate = getattr(config, name)
        if rate and not directions[0].recurrent_names():
            raise InputError(f"{name}={rate}: the cell {config.cell!r} has no recurrent weights")
    if config.masks_per_gate and not has_gates(directions[0].cell):
        raise InputError(
            f"masks_per_gate=true: the cell {config.cell!r} reads input and state as one vector; "
            "choose another cell, such as 'lstm'"
        )
    return Layer(
        directions,
        CONNECTIONS[config.connection],
        layer_norm=config.layer_norm,
        weight_drop=config.weight_drop,
    )
