"""Encoder–decoders as two ONNX graphs: encode a source once, then write its target step by step.

    encode.onnx      source (N, S) ids with `<eos>` at their end, or vectors (N, S, F); lengths (N,)
                     → memory…, state…
    step.onnx        ids (N,), state…, memory…, [real (N, S)], [places (N, S)]
                     → log_probs (N, V), new state…, [attention (N, S)]

`real`: the positions of the source that are no padding, for models with attention. `places`: of
models that copy, the id of each source word in the target vocabulary. The first id is `<eos>`, and
a target ends with `<eos>`.
"""

from __future__ import annotations

import json
from typing import Any

import torch
from torch import nn

from elman.formats.onnx_graphs import ROWS, quantise, trace

_LENGTH = 5  # of the example


class Encode(nn.Module):
    """The first part: from a source to memory and state."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, source: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, ...]:
        memory, state = self.network.encode(source, lengths)
        return (*memory.values(), *state.values())


class TargetStep(nn.Module):
    """The second part: one word of the target."""

    def __init__(self, network: Any, memory: list[str], state: list[str]) -> None:
        super().__init__()
        self.network = network
        self.memory, self.state = memory, state

    def forward(
        self,
        ids: torch.Tensor,
        state: list[torch.Tensor],
        memory: list[torch.Tensor],
        further: list[torch.Tensor],
    ) -> tuple[torch.Tensor, ...]:
        named = dict(zip(self.state, state, strict=True))
        kept = dict(zip(self.memory, memory, strict=True))
        log_probs, after, weights = self.network.step(ids, named, kept, *further)
        found = (log_probs, *after.values())
        return found if weights is None else (*found, weights)


def translation_graphs(network: Any) -> dict[str, Any]:
    """The graphs of an encoder–decoder by name."""
    rows, length = torch.export.Dim("N"), torch.export.Dim("S")
    source, lengths = _example(network)
    with torch.no_grad():
        memory, state = network.encode(source, lengths)
    names = [f"memory_{name}" for name in memory], [f"state_{name}" for name in state]
    encode = trace(
        Encode(network),
        (source, lengths),
        ({0: rows, 1: length}, {0: rows}),
        ["source", "lengths"],
        [*names[0], *names[1]],
    )
    further = _further(network)
    found = ["log_probs", *(f"new_{name}" for name in names[1])]
    step = trace(
        TargetStep(network, [*memory], [*state]),
        (
            torch.zeros(ROWS, dtype=torch.long),
            [*state.values()],
            [*memory.values()],
            [*further.values()],
        ),
        (
            {0: rows},
            [_sizes(name, rows, length) for name in state],
            [_sizes(name, rows, length) for name in memory],
            [{0: rows, 1: length} for _ in further],
        ),
        ["ids", *names[1], *names[0], *further],
        [*found, *(["attention"] if network.decoder.attention is not None else [])],
    )
    graphs = {"encode": encode, "step": step}
    return graphs | {f"{name}.int8": quantise(graph) for name, graph in graphs.items()}


def _example(network: Any) -> tuple[torch.Tensor, torch.Tensor]:
    lengths = torch.tensor([_LENGTH, 3])
    if network.features:
        return torch.zeros(ROWS, _LENGTH, network.features), lengths
    return torch.zeros(ROWS, _LENGTH, dtype=torch.long), lengths


def _further(network: Any) -> dict[str, torch.Tensor]:
    """Inputs of a step that come from the source, not from the first graph."""
    found = {}
    if network.decoder.attention is not None:
        found["real"] = torch.ones(ROWS, _LENGTH, dtype=torch.bool)
    if network.copies:
        found["places"] = torch.zeros(ROWS, _LENGTH, dtype=torch.long)
    return found


def _sizes(name: str, rows: Any, length: Any) -> dict[int, Any]:
    return {0: rows, 1: length} if name in ("values", "keys", "covered") else {0: rows}


def translation_metadata(network: Any) -> dict[str, str]:
    """The ids that begin and end a target."""
    ids = {"sos_id": str(network.eos_id), "eos_id": str(network.eos_id)}
    return {**ids, "unknown_id": json.dumps(network.unknown_id if network.copies else None)}
