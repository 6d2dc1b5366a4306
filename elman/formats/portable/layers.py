"""Cells over time, and stacks of them."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from elman.formats.portable.cells import CELLS, States, Step


def unroll(step: Any, state: States, values: States, *, reverse: bool = False) -> Any:
    """Run a step over values (B, T, …): the outputs of all steps, (B, T, …), and the last state.

    `torch.export` gets a scan instead of a loop, so that its graph takes any number of steps.
    """
    if reverse:
        values = tuple(part.flip(1) for part in values)
    if getattr(torch.compiler, "is_exporting", lambda: False)() and values[0].shape[1] != 1:
        from torch._higher_order_ops import scan

        def apart(state: States, at: States) -> tuple[States, torch.Tensor]:
            new, output = step(state, at)
            return tuple(part.clone() for part in new), output.clone()

        by_time = tuple(part.transpose(0, 1) for part in values)
        state, stacked = scan(apart, tuple(part.clone() for part in state), by_time, dim=0)
        outputs = stacked.transpose(0, 1)
    else:
        found = []
        for t in range(values[0].shape[1]):
            state, output = step(state, tuple(part[:, t] for part in values))
            found.append(output)
        outputs = torch.stack(found, dim=1)
    return (outputs.flip(1) if reverse else outputs), state


class Recurrent(nn.Module):
    """One cell over time, in one direction."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.cell = CELLS[settings["cell"]]
        self.options, self.state_sizes = settings["options"], settings["state_sizes"]
        self.zoneout = settings["zoneout"]
        self.weights = nn.ParameterDict(
            {name: nn.Parameter(torch.zeros(shape)) for name, shape in settings["weights"].items()}
        )

    def begin(self, batch_size: int) -> States:
        like = next(self.parameters())
        return tuple(like.new_zeros(batch_size, size) for size in self.state_sizes)

    def forward(
        self,
        inputs: torch.Tensor,
        state: States,
        *,
        real: torch.Tensor | None = None,
        fresh: torch.Tensor | None = None,
        reverse: bool = False,
    ) -> tuple[torch.Tensor, States]:
        """Read (B, T, size). `real` (B, T): other steps keep the state and give zeros; `fresh`
        (B, T): steps before which the state is reset.
        """
        fed = {
            name.removesuffix("_input"): inputs @ weight.t()
            for name, weight in self.weights.items()
            if name.endswith("_input")
        }
        everywhere = torch.ones_like(inputs[:, :, 0], dtype=torch.bool)
        masks = (everywhere if real is None else real, ~everywhere if fresh is None else fresh)

        def step(state: States, at: States) -> tuple[States, torch.Tensor]:
            here, again, now, *parts = at
            if fresh is not None:
                state = tuple(part * ~again[:, None] for part in state)
            products = Step(self.weights, now, dict(zip(fed, parts, strict=True)))
            new = self.cell(products, state, self.options)
            new = tuple(
                torch.lerp(after, before, rate) if rate else after
                for before, after, rate in zip(state, new, self.zoneout, strict=True)
            )
            if real is None:
                return new, new[0]
            both = zip(state, new, strict=True)
            new = tuple(torch.where(here[:, None], after, before) for before, after in both)
            return new, new[0] * here[:, None]

        return unroll(step, state, (*masks, inputs, *fed.values()), reverse=reverse)


class _Connection(nn.Module):
    """A connection around a layer: none, residual, dense or highway."""

    def __init__(self, kind: str, input_size: int, output_size: int) -> None:
        super().__init__()
        self.kind = kind
        if kind == "highway":
            self.gate = nn.Linear(input_size, output_size)

    def forward(self, entered: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        if self.kind == "residual":
            return entered + output
        if self.kind == "dense":
            return torch.cat([entered, output], dim=-1)
        if self.kind == "highway":
            return torch.lerp(entered, output, torch.sigmoid(self.gate(entered)))
        return output


class _Layer(nn.Module):
    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.directions = nn.ModuleList(Recurrent(each) for each in settings["directions"])
        size = settings["input_size"]
        output_size = sum(each["state_sizes"][0] for each in settings["directions"])
        self.connection = _Connection(settings["connection"], size, output_size)
        self.normalise = nn.LayerNorm(size) if settings["layer_norm"] else None


class Stack(nn.Module):
    """Recurrent layers, one above the other."""

    def __init__(self, layers: list[dict[str, Any]]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(_Layer(settings) for settings in layers)

    def begin(self, batch_size: int) -> list[torch.Tensor]:
        return [
            part
            for layer in self.layers
            for direction in layer.directions
            for part in direction.begin(batch_size)
        ]

    def forward(
        self,
        values: torch.Tensor,
        state: list[torch.Tensor],
        real: torch.Tensor | None = None,
        fresh: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Read (B, T, size); the state is a flat list."""
        outputs, after = self.run(values, state, real, fresh)
        return outputs[-1], after

    def run(
        self,
        values: torch.Tensor,
        state: list[torch.Tensor],
        real: torch.Tensor | None = None,
        fresh: torch.Tensor | None = None,
    ) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """The outputs of every layer, (B, T, its size), and the new state."""
        remaining, after, found = list(state), [], []
        for layer in self.layers:
            inputs = values if layer.normalise is None else layer.normalise(values)
            outputs = []
            for number, direction in enumerate(layer.directions):
                count = len(direction.state_sizes)
                before, remaining = tuple(remaining[:count]), remaining[count:]
                output, new = direction(inputs, before, real=real, fresh=fresh, reverse=number == 1)
                outputs.append(output)
                after += new
            values = layer.connection(values, torch.cat(outputs, dim=-1))
            if real is not None:
                values = values * real.unsqueeze(-1)
            found.append(values)
        return found, after
