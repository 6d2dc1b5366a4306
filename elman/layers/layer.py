"""One layer of a stack: one direction or two, and the connection around them.

    entered ──┬── normalise ── dropout ──┬── left to right ──┬── [;] ── connection ── handed on
              │                          └── right to left ──┘              │
              └─────────────────────────────────────────────────────────────┘

Dropout lies on the way into the cells only; the way around carries the values as they are. The two
directions (Schuster and Paliwal 1997) have weights of their own, and their outputs are joined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import nn

from elman.cells.cell import States, Weights
from elman.layers.connections import Connection
from elman.layers.dropout import weight_drop
from elman.layers.padding import real_tokens
from elman.layers.recurrent import Recurrent

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
