"""Every cell by its equations.

A cell takes (step, state, options) and gives the new state; its first tensor is the output.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import logsigmoid

States = tuple[torch.Tensor, ...]


class Step:
    """The products of one step: W x_t + U v + b, any part may be missing."""

    def __init__(self, weights: Any, inputs: torch.Tensor, prepared: dict[str, torch.Tensor]):
        self.weights, self.inputs, self.prepared = weights, inputs, prepared

    def product(self, name: str, state: torch.Tensor | None = None) -> torch.Tensor:
        """(B, rows); W may feed the first rows only."""
        total = self.prepared.get(name)
        if state is not None:
            recurrent = state @ self.weights[f"{name}_state"].t()
            if total is None:
                total = recurrent
            elif total.shape[1] < recurrent.shape[1]:
                fed = total.shape[1]
                total = torch.cat([total + recurrent[:, :fed], recurrent[:, fed:]], dim=1)
            else:
                total = total + recurrent
        assert total is not None
        for bias in (f"{name}_bias", f"{name}_state_bias"):
            if bias in self.weights:
                total = total + self.weights[bias]
        return total


_ACTIVATIONS = {"tanh": torch.tanh, "sigmoid": torch.sigmoid, "relu": torch.relu}


def _elman(step: Step, state: States, options: dict[str, Any]) -> States:
    return (_ACTIVATIONS[options.get("activation", "tanh")](step.product("hidden", state[0])),)


def _lstm(step: Step, state: States, options: dict[str, Any]) -> States:
    hidden, memory = state
    gates = options["gates"]  # "ifgo"; ablations lack one
    parts = dict(zip(gates, step.product("gates", hidden).chunk(len(gates), dim=1), strict=True))
    opened = {name: torch.sigmoid(part) for name, part in parts.items() if name != "g"}
    written = torch.tanh(parts["g"])
    written = opened["i"] * written if "i" in opened else written
    memory = (opened["f"] * memory if "f" in opened else memory) + written
    if (clip := options.get("cell_clip")) is not None:
        memory = memory.clamp(-clip, clip)
    hidden = torch.tanh(memory)
    hidden = opened["o"] * hidden if "o" in opened else hidden
    if "projection" in step.weights:
        hidden = hidden @ step.weights["projection"].t()
        if (clip := options.get("projection_clip")) is not None:
            hidden = hidden.clamp(-clip, clip)
    return hidden, memory


def _peephole(step: Step, state: States, options: dict[str, Any]) -> States:
    hidden, memory = state
    i, f, g, o = step.product("gates", hidden).chunk(4, dim=1)
    peeped = step.weights["peephole_gates"]
    i, f = torch.sigmoid(i + peeped[0] * memory), torch.sigmoid(f + peeped[1] * memory)
    memory = f * memory + i * torch.tanh(g)
    o = torch.sigmoid(o + step.weights["peephole_output"] * memory)
    return o * torch.tanh(memory), memory


def _mogrifier(step: Step, state: States, options: dict[str, Any]) -> States:
    hidden, memory = state
    inputs = step.inputs

    def look(number: int, other: torch.Tensor) -> torch.Tensor:
        if f"round{number}_state" in step.weights:
            return step.product(f"round{number}", other)
        return step.product(f"round{number}_out", step.product(f"round{number}_in", other))

    for number in range(1, options.get("rounds", 5) + 1):
        if number % 2:
            inputs = 2 * torch.sigmoid(look(number, hidden)) * inputs
        else:
            hidden = 2 * torch.sigmoid(look(number, inputs)) * hidden
    i, f, g, o = step.product("gates", torch.cat([inputs, hidden], dim=1)).chunk(4, dim=1)
    memory = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(memory), memory


def _gru(step: Step, state: States, options: dict[str, Any]) -> States:
    (hidden,) = state
    update, reset = torch.sigmoid(step.product("gates", hidden)).chunk(2, dim=1)
    candidate = torch.tanh(step.product("candidate", reset * hidden))
    return (hidden + update * (candidate - hidden),)


def _torch_gru(step: Step, state: States, options: dict[str, Any]) -> States:
    (hidden,) = state
    reset, keep, recurrent = step.product("gates", hidden).chunk(3, dim=1)
    candidate = torch.tanh(step.product("candidate") + torch.sigmoid(reset) * recurrent)
    return (candidate + torch.sigmoid(keep) * (hidden - candidate),)


def _mut1(step: Step, state: States, options: dict[str, Any]) -> States:
    (hidden,) = state
    update = torch.sigmoid(step.product("update"))
    reset = torch.sigmoid(step.product("reset", hidden))
    candidate = torch.tanh(step.product("candidate", reset * hidden) + torch.tanh(step.inputs))
    return (hidden + update * (candidate - hidden),)


def _mut2(step: Step, state: States, options: dict[str, Any]) -> States:
    (hidden,) = state
    update, reset = step.product("gates", hidden).chunk(2, dim=1)
    reset = torch.sigmoid(reset + step.inputs)
    candidate = torch.tanh(step.product("candidate", reset * hidden))
    return (hidden + torch.sigmoid(update) * (candidate - hidden),)


def _mut3(step: Step, state: States, options: dict[str, Any]) -> States:
    (hidden,) = state
    update = torch.sigmoid(step.product("update", torch.tanh(hidden)))
    reset = torch.sigmoid(step.product("reset", hidden))
    candidate = torch.tanh(step.product("candidate", reset * hidden))
    return (hidden + update * (candidate - hidden),)


def _highway(step: Step, state: States, options: dict[str, Any]) -> States:
    (hidden,) = state
    for depth in range(1, options.get("depth", 5) + 1):
        candidate, transform = step.product(f"depth{depth}", hidden).chunk(2, dim=1)
        hidden = hidden + torch.sigmoid(transform) * (torch.tanh(candidate) - hidden)
    return (hidden,)


def _nas(step: Step, state: States, options: dict[str, Any]) -> States:
    hidden, memory = state
    first, third, sixth, eighth, fifth, seventh, second, fourth = step.product(
        "gates", hidden
    ).chunk(8, dim=1)
    candidate = torch.tanh(torch.sigmoid(first) * torch.relu(second))
    update = torch.tanh(torch.sigmoid(third) + torch.relu(step.product("factor") * fourth))
    read = torch.tanh(fifth) * torch.sigmoid(sixth)
    read = torch.tanh(torch.tanh(read) + torch.sigmoid(torch.tanh(seventh) + torch.sigmoid(eighth)))
    memory = torch.tanh(candidate + memory) * update
    return torch.tanh(memory * read), memory


def _min_gru(step: Step, state: States, options: dict[str, Any]) -> States:
    update, candidate = step.product("gates").chunk(2, dim=1)
    return (state[0] + torch.sigmoid(update) * (candidate - state[0]),)


def _min_lstm(step: Step, state: States, options: dict[str, Any]) -> States:
    forget, write, candidate = step.product("gates").chunk(3, dim=1)
    keep = torch.sigmoid(logsigmoid(forget) - logsigmoid(write))
    return (candidate + keep * (state[0] - candidate),)


CELLS = {
    "elman": _elman,
    "lstm": _lstm,
    "peephole": _peephole,
    "mogrifier": _mogrifier,
    "gru": _gru,
    "torch-gru": _torch_gru,
    "mut1": _mut1,
    "mut2": _mut2,
    "mut3": _mut3,
    "highway": _highway,
    "nas": _nas,
    "min-gru": _min_gru,
    "min-lstm": _min_lstm,
}
