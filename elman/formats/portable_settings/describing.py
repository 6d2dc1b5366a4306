"""What portable models are described by: plain settings, and tensors by name.

`describe` is a function with one case for every kind of model; the other files here add theirs. A
part that portable models do not have is refused with the reason.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import torch

from elman.errors import InputError
from elman.formats.portable.cells import CELLS
from elman.layers.recurrent import Recurrent
from elman.layers.stack import Stack

Weights = dict[str, torch.Tensor]
_ALIKE = {"lstm-f": "lstm", "lstm-i": "lstm", "lstm-o": "lstm", "lstm-b": "lstm"}


@singledispatch
def describe(model: Any) -> tuple[dict[str, Any], Weights]:
    """The settings of a model for `portable.families.build`, and its weights."""
    raise InputError(
        f"the model {type(model).__name__} cannot be written in this format: its equations are not "
        "among the portable ones; elman list exports lists the formats"
    )


def stack_settings(stack: Stack, cell: str, connection: str) -> list[dict[str, Any]]:
    """The settings of the layers of a stack."""
    cell = _ALIKE.get(cell, cell)
    if cell not in CELLS:
        raise InputError(
            f"the cell {cell!r} cannot be written in this format: its equations are not in the "
            f"portable model, which has {', '.join(CELLS)}"
        )
    return [
        {
            "input_size": layer.directions[0].cell.input_size,
            "connection": connection,
            "layer_norm": layer.normalise is not None,
            "directions": [direction_settings(each, cell) for each in layer.directions],
        }
        for layer in stack.layers
    ]


def direction_settings(direction: Recurrent, cell: str) -> dict[str, Any]:
    """The settings of one cell."""
    names = ("activation", "gates", "cell_clip", "projection_clip", "rounds", "depth")
    found = {name: getattr(direction.cell, name, None) for name in names}
    return {
        "cell": cell,
        "options": {name: value for name, value in found.items() if value is not None},
        "state_sizes": list(direction.cell.state_sizes),
        "zoneout": list(direction.zoneout),
        "weights": {name: list(weight.shape) for name, weight in direction.weights.items()},
    }


def renamed(module: torch.nn.Module, names: dict[str, str]) -> Weights:
    """The weights whose names begin so, with that beginning replaced."""
    return {
        name.replace(old, new, 1): weight.detach().clone()
        for name, weight in module.state_dict().items()
        for old, new in names.items()
        if name.startswith(old)
    }
