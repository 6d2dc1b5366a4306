"""One layer of a stack: one direction or two, and the connection around them.

    entered ──┬── normalise ── dropout ──┬── left to right ──┬── [;] ── connection ── handed on
              │                          └── right to left ──┘              │
              └─────────────────────────────────────────────────────────────┘

Dropout lies on the way into the cells only; the way around carries the values as they are. The two
directions (Schuster and Paliwal 1997) have weights of their own, and their outputs are joined.
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
from elman.registry import Registry

_CARRY = -2.0  # bias of a fresh highway gate: most is carried around, σ(-2) = 0.12 of y goes in


class Connection(nn.Module, ABC):
    """A way around one layer: what is handed on to the next, `size` numbers per step.

    With x what came to the layer and y what it made of it,

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
        """How much is handed on; an InputError if the two sizes do not go together."""

    @abstractmethod
    def forward(self, entered: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        """What is handed on, (B, T, size), from (B, T, input_size) and (B, T, output_size)."""


class Plain(Connection):
    """No way around."""

    about = "none: each layer reads the one below"

    def size_from(self, input_size: int, output_size: int) -> int:
        return output_size

    def forward(self, entered: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        return output


class Residual(Connection):
    """A layer learns what to add."""

    about = "a layer's output is added to its input (He et al. 2016)"

    def size_from(self, input_size: int, output_size: int) -> int:
        return _same_size("residual", input_size, output_size)

    def forward(self, entered: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        return entered + output


class Dense(Connection):
    """Nothing is lost on the way up; the top hands on the input and the output of every layer."""

    about = "a layer reads the outputs of all layers below (Huang et al. 2017)"

    def size_from(self, input_size: int, output_size: int) -> int:
        return input_size + output_size

    def forward(self, entered: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        return torch.cat([entered, output], dim=-1)


class Highway(Connection):
    """A gate per unit decides between the layer's output and its input."""

    about = "a gate chooses between a layer's output and its input (Srivastava et al. 2015)"

    def __init__(self, input_size: int, output_size: int) -> None:
        super().__init__(input_size, output_size)
        self.gate = nn.Linear(input_size, output_size)
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
    """What came of one layer."""

    outputs: torch.Tensor  # (B, T, size), handed on; zero beyond the lengths
    state: tuple[States, ...]  # per direction
    trace: tuple[Trace, ...] | None  # per direction


class Layer(nn.Module):
    """One direction (left to right) or two, joined."""

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
        # A ModuleList does not know what it is a list of.
        self.directions = cast("Sequence[Recurrent]", nn.ModuleList(directions))
        self.connection = connection(input_size, sum(each.output_size for each in directions))
        self.normalise = nn.LayerNorm(input_size) if layer_norm else None
        self.weight_drop = weight_drop
        self.size = self.connection.size

    def start(self, batch_size: int) -> tuple[States, ...]:
        """The state of each direction before anything was read."""
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
        joined = torch.cat([run.outputs for run in runs], dim=-1)
        return LayerRun(
            outputs=_clear(self.connection(entered, joined), lengths),
            state=tuple(run.state for run in runs),
            trace=tuple(run.trace for run in runs) if trace else None,
        )

    def weights(self, direction: Recurrent) -> Weights | None:
        """Weights with some recurrent connections taken out; None: the module's own."""
        if self.weight_drop == 0 or not self.training:
            return None
        weights = direction.own_weights()
        for name in direction.recurrent_names():
            weights[name] = weight_drop(weights[name], self.weight_drop, self.training)
        return weights


def _clear(values: torch.Tensor, lengths: torch.Tensor | None) -> torch.Tensor:
    """Zeros beyond the lengths: what a connection leads around a layer is not zero there."""
    if lengths is None:
        return values
    return torch.where(real_tokens(values, lengths).unsqueeze(-1), values, 0)
