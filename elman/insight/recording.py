"""A copy of a model whose cells record their values and have probes for gradients.

The copy shares the weights of the model. Every cell in it records the values that it names in a
step (gates, cells, hidden units), and adds a probe ε to every tensor of its state:

    state_i ← state_i + ε_i,  ε_i = 0        so that ∂loss_t/∂ε_i is ∂loss_t/∂state_i

The next step and the layer above both read the state with its probe. So this is the total
derivative, for any cell and any connection between layers. Called by the other insights.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

from elman.cells.cell import Cell, States, Step
from elman.errors import InputError
from elman.insight.insight import Subject
from elman.layers.recurrent import Recurrent
from elman.layers.wrapped_cells import WrappedCell, WrappedStep

_STATE_NAMES = ("hidden", "cell")


@dataclass
class Record:
    """The values that a cell recorded, step by step."""

    name: str  # "layer 1"
    probes: list[States] = field(default_factory=list)  # per step, per tensor: (B, size)
    states: list[States] = field(default_factory=list)
    values: list[dict[str, torch.Tensor]] = field(default_factory=list)  # per step, by name

    def state_names(self) -> tuple[str, ...]:
        """The names of the state tensors: hidden and, for an LSTM, cell."""
        count = len(self.states[0])
        return (*_STATE_NAMES, *(f"state {n + 1}" for n in range(2, count)))[:count]

    def clear(self) -> None:
        """Clear the record."""
        self.probes, self.states, self.values = [], [], []


class _WatchedStep(WrappedStep):
    """The step of the engine, with a record of the values that the cell names."""

    def __init__(self, step: Step, values: dict[str, torch.Tensor]) -> None:
        super().__init__(step)
        self._values = values

    def record(self, **values: torch.Tensor) -> None:
        self._values.update({name: value.detach() for name, value in values.items()})
        super().record(**values)


class WatchedCell(WrappedCell):
    """The wrapped cell, with a record of its steps and a probe on each state."""

    def __init__(self, cell: Cell, record: Record) -> None:
        super().__init__(cell)
        self.record = record

    def step(self, step: Step, state: States) -> States:
        values: dict[str, torch.Tensor] = {}
        after = self.cell.step(_WatchedStep(step, values), state)
        self.record.values.append(values)
        self.record.states.append(tuple(part.detach() for part in after))
        if not torch.is_grad_enabled():
            return after
        probes = tuple(torch.zeros_like(part, requires_grad=True) for part in after)
        self.record.probes.append(probes)
        return tuple(part + probe for part, probe in zip(after, probes, strict=True))


@dataclass
class Watched:
    """A model and the records of its cells, layer by layer."""

    model: Any
    records: list[Record]

    def clear(self) -> None:
        """Clear the records before the model reads another text."""
        for record in self.records:
            record.clear()


def watch(model: nn.Module) -> Watched:
    """A recording copy of a model with cells; it shares the weights and is not trained."""
    twin = twin_of(model)
    found = [part for part in twin.modules() if isinstance(part, Recurrent)]
    if not found:
        raise InputError("this model has no recurrent layers, so gradients flow through no state")
    records = []
    for number, recurrent in enumerate(found, 1):
        records.append(Record(f"layer {number}"))
        recurrent.cell = WatchedCell(recurrent.cell, records[-1])
    return Watched(twin, records)


def is_recurrent(model: Any) -> bool:
    """Whether the model has recurrent cells."""
    return isinstance(model, nn.Module) and any(
        isinstance(part, Recurrent) for part in model.modules()
    )


def twin_of(model: nn.Module) -> Any:
    """A copy of the model that shares its weights, without gradients for them."""
    shared = {id(parameter): parameter.detach() for parameter in model.parameters()}
    shared |= {id(buffer): buffer for buffer in model.buffers()}
    return copy.deepcopy(model, shared).eval()


NOT_GATES = ("hidden", "cell", "candidate", "state")  # everything else lies between 0 and 1


def activations(subject: Subject) -> dict[str, np.ndarray]:
    """All values that the cells name while reading a text: gates, cells, candidates, hidden units.

    "layer 1 hidden", "layer 1 forget", … to (T, units); row t is the value after token t.
    """
    watched = watch(subject.model)
    with torch.inference_mode():
        model = watched.model
        state = model.start(1)  # starts with the end of the previous line
        watched.clear()
        model.read(torch.from_numpy(subject.ids)[None], state)
    found: dict[str, np.ndarray] = {}
    for record in watched.records:
        for name in record.values[0]:
            steps = [values[name][0] for values in record.values]
            found[f"{record.name} {name}"] = torch.stack(steps).numpy(force=True)
    return found


def is_gate(name: str, values: np.ndarray) -> bool:
    """Whether these values are those of a gate, between 0 and 1."""
    return not name.endswith(NOT_GATES) and bool(values.min() >= 0 and values.max() <= 1)
