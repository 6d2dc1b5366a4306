"""One layer of a stack: one direction or two, and the connection around them.

    entered ──┬── normalise ── dropout ──┬── left to right ──┬── [;] ── connection ── handed on
              │                          └── right to left ──┘              │
              └─────────────────────────────────────────────────────────────┘

Dropout applies only to the inputs of the cells; the connection carries the values without dropout.
The two directions (Schuster and Paliwal 1997) have separate weights and concatenated outputs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

import torch
from torch import nn

from elman.cells.cell import States, Weights
from elman.cells.engine import real_tokens
from elman.errors import InputError
from elman.layers.dropout import weight_drop
from elman.layers.recurrent import Recurrent
from elman.matrix_products import LinearLayer
from elman.registry import Registry

_CARRY = -2.0  # initial bias of a highway gate: σ(-2) = 0.12 of y, the rest is the input


class Connection(nn.Module, ABC):
    """A connection around one layer; `size` is the size of its result.

    With the input x of the layer and its output y,

        none        y
        residual    x + y                                  (He et al. 2016)
        dense       [x, y]: every layer reads all below    (Huang et al. 2017; Ding et al. 2018)
        highway     g ∘ y + (1 - g) ∘ x, g = σ(W x + b)    (Srivastava et al. 2015)
    """

    about: ClassVar[str]

    def __init__(self, input_size: int, output_size: int) -> None:
        super().__init__()
        self.size = self.size_from(input_size, output_size)

    @abstractmethod
    def size_from(self, input_size: int, output_size: int) -> int:
        """The size of the result; raise an InputError if the two sizes do not match."""

    @abstractmethod
    def forward(self, entered: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        """The result, (B, T, size), from (B, T, input_size) and (B, T, output_size)."""


class Plain(Connection):
    """No connection."""

    about = "no connection: each layer reads the one below"

    def size_from(self, input_size: int, output_size: int) -> int:
        return output_size

    def forward(self, entered: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        return output


class Residual(Connection):
    """A layer learns a change of its input."""

    about = "adds the input of a layer to its output (He et al. 2016)"

    def size_from(self, input_size: int, output_size: int) -> int:
        return _same_size("residual", input_size, output_size)

    def forward(self, entered: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        return entered + output


class Dense(Connection):
    """Every layer reads all outputs below it; the top gives the input and all outputs."""

    about = "each layer reads the outputs of all layers below (Huang et al. 2017)"

    def size_from(self, input_size: int, output_size: int) -> int:
        return input_size + output_size

    def forward(self, entered: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        return torch.cat([entered, output], dim=-1)


class Highway(Connection):
    """A gate per unit mixes the output of the layer with its input."""

    about = "a gate mixes the output of a layer with its input (Srivastava et al. 2015)"

    def __init__(self, input_size: int, output_size: int) -> None:
        super().__init__(input_size, output_size)
        self.gate = LinearLayer(input_size, output_size)
        nn.init.constant_(self.gate.bias, _CARRY)

    def size_from(self, input_size: int, output_size: int) -> int:
        return _same_size("highway", input_size, output_size)

    def forward(self, entered: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        return torch.lerp(entered, output, torch.sigmoid(self.gate(entered)))


def _same_size(name: str, input_size: int, output_size: int) -> int:
    if input_size != output_size:
        raise InputError(
            f"connection={name!r}: a layer reads {input_size} and gives {output_size} numbers per "
            "step, and they must be equal; change hidden_size, or choose 'none' or 'dense'"
        )
    return output_size


CONNECTIONS = Registry(
    "connection",
    {"none": Plain, "residual": Residual, "dense": Dense, "highway": Highway},
    group="connections",
)


Trace = dict[str, torch.Tensor]  # name to (B, T, size)


@dataclass
class LayerRun:
    """The result of one layer."""

    outputs: torch.Tensor  # (B, T, size), for the next layer; zero beyond the lengths
    state: tuple[States, ...]  # per direction
    trace: tuple[Trace, ...] | None  # per direction


class Layer(nn.Module):
    """One direction (left to right), or two whose outputs are concatenated."""

    def __init__(
        self,
        directions: list[Recurrent],
        connection: Callable[[int, int], Connection],
        *,
        layer_norm: bool = False,
        weight_drop: float = 0.0,
    ) -> None:
        super().__init__()
        input_size = directions[0].cell.input_size
        # A ModuleList does not know the type of its items.
        self.directions = cast("Sequence[Recurrent]", nn.ModuleList(directions))
        self.connection = connection(input_size, sum(each.output_size for each in directions))
        self.normalise = nn.LayerNorm(input_size) if layer_norm else None
        self.weight_drop = weight_drop
        self.size = self.connection.size

    def start(self, batch_size: int) -> tuple[States, ...]:
        """The initial state of each direction."""
        return tuple(direction.start(batch_size) for direction in self.directions)

    def forward(
        self,
        entered: torch.Tensor,
        state: tuple[States, ...] | None,
        drop: Callable[[torch.Tensor], torch.Tensor],
        *,
        lengths: torch.Tensor | None = None,
        trace: bool = False,
        outputs_only: bool = False,
    ) -> LayerRun:
        """Read (B, T, input_size), after `drop` has been applied to it."""
        if state is not None and len(state) != len(self.directions):
            raise ValueError(
                f"state of {len(state)} directions: the layer has {len(self.directions)}"
            )
        inputs = drop(entered if self.normalise is None else self.normalise(entered))
        runs = [
            direction(
                inputs,
                None if state is None else state[number],
                lengths=lengths,
                reverse=number == 1,
                trace=trace,
                weights=self.weights(direction),
                outputs_only=outputs_only,
            )
            for number, direction in enumerate(self.directions)
        ]
        outputs = [run.outputs for run in runs]
        joined = outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=-1)
        return LayerRun(
            outputs=_clear(self.connection(entered, joined), lengths),
            state=tuple(run.state for run in runs),
            trace=tuple(run.trace for run in runs) if trace else None,
        )

    @property
    def steps_alike(self) -> bool:
        """Whether a row of a step, prepared as `alike`, has the same bits in every batch."""
        return self.is_plain and self.directions[0].steps_alike

    @property
    def is_plain(self) -> bool:
        """Whether it is a cell and nothing else: one direction, no connection, no zoneout."""
        alone = len(self.directions) == 1 and not any(self.directions[0].zoneout)
        return alone and isinstance(self.connection, Plain) and self.normalise is None

    def weights(self, direction: Recurrent) -> Weights | None:
        """Weights without the dropped recurrent connections; None: the unchanged weights."""
        if self.weight_drop == 0 or not self.training:
            return None
        weights = direction.own_weights()
        for name in direction.recurrent_names():
            weights[name] = weight_drop(weights[name], self.weight_drop, self.training)
        return weights


def _clear(values: torch.Tensor, lengths: torch.Tensor | None) -> torch.Tensor:
    """Set values beyond the lengths to zero; connections carry other values there."""
    if lengths is None:
        return values
    return torch.where(real_tokens(values, lengths).unsqueeze(-1), values, 0)
