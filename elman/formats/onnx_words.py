"""Models over words as ONNX graphs: classifiers, taggers, ELMo and answers to questions.

    labels.onnx      ids (N, T), [characters (N, T, L)], lengths (N,), [first (N,)] → log_probs
                     of a classifier (N, K), of a tagger (N, T, K)
    vectors.onnx     characters (N, T, L), lengths (N,) → layers (N, K, T, size)
    answers.onnx     of question and passage ids, characters and lengths; matched (N, T)
                     → starts (N, T), ends (N, T): log probabilities

Models that read no characters have no such input. `first`: of pairs, the number of words of the
first text; the second one follows it. `words.py`, beside the graphs, makes these inputs from text.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from elman.formats.onnx_graphs import ROWS, quantise, trace

_WORDS, _SYMBOLS = 5, 9  # of the example


class Labels(nn.Module):
    """A portable classifier or tagger that takes the lengths of texts."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, ids: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
        remaining = list(others)
        characters = remaining.pop(0) if self.network.reads_characters else None
        real = within(ids, remaining.pop(0))
        second = [~within(ids, first) for first in remaining]
        return self.network.log_probs(ids, real, characters, *second)


class Vectors(nn.Module):
    """A portable bidirectional language model that takes the lengths of texts."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, characters: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        real = within(characters[:, :, 0], lengths)
        return self.network(real, characters).transpose(0, 1)


class Answers(nn.Module):
    """A portable answerer that takes the lengths of texts."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        *parts, matched = inputs
        half = len(parts) // 2
        question, passage = (
            (part[0], within(part[0], part[-1]), *part[1:-1])
            for part in (parts[:half], parts[half:])
        )
        return self.network(question, passage, matched)


def within(values: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Which places (N, T) lie within each length."""
    return torch.arange(values.shape[1], device=values.device) < lengths[:, None]


def label_graphs(network: Any) -> dict[str, Any]:
    """The graphs of a classifier or tagger."""
    inputs = _text_inputs(network.reads_characters)
    if getattr(network, "texts", 1) == 2:
        inputs["first"] = (torch.tensor([2, 1]), {0: torch.export.Dim("N")})
    return _both("labels", Labels(network), inputs, ["log_probs"])


def vector_graphs(network: Any) -> dict[str, Any]:
    """The graphs of a bidirectional language model."""
    inputs = _text_inputs(True)
    del inputs["ids"]
    return _both("vectors", Vectors(network), inputs, ["layers"])


def answer_graphs(network: Any) -> dict[str, Any]:
    """The graphs of a model that answers questions."""
    inputs = {}
    for role, length in (("question", "Q"), ("passage", "T")):
        for name, given in _text_inputs(network.reads_characters, length).items():
            inputs[f"{role}_{name}"] = given
    sizes = {0: torch.export.Dim("N"), 1: torch.export.Dim("T")}
    inputs["matched"] = (torch.zeros(ROWS, _WORDS + 2, dtype=torch.bool), sizes)
    return _both("answers", Answers(network), inputs, ["starts", "ends"])


def _text_inputs(characters: bool, length: str = "T") -> dict[str, Any]:
    """An example of the inputs of a text, each with the names of its sizes."""
    rows, words = torch.export.Dim("N"), torch.export.Dim(length)
    count = _WORDS + (2 if length == "T" else 0)
    inputs: dict[str, Any] = {
        "ids": (torch.zeros(ROWS, count, dtype=torch.long), {0: rows, 1: words})
    }
    if characters:
        spelled = torch.zeros(ROWS, count, _SYMBOLS, dtype=torch.long)
        spelled[:, :, :3] = torch.tensor([257, 98, 258])
        symbols = torch.export.Dim("L" if length == "T" else "M")
        inputs["characters"] = (spelled, {0: rows, 1: words, 2: symbols})
    inputs["lengths"] = (torch.tensor([count, 3]), {0: rows})
    return inputs


def _both(name: str, model: nn.Module, inputs: dict[str, Any], found: list[str]) -> dict[str, Any]:
    """A graph with 32-bit and one with 8-bit weights."""
    example = tuple(value for value, _ in inputs.values())
    sizes: Any = tuple(size for _, size in inputs.values())
    names = [*inputs]
    if isinstance(model, Labels):
        sizes = (sizes[0], sizes[1:])  # as `forward` takes them
    elif isinstance(model, Answers):
        sizes = (sizes,)
    graph = trace(model, example, sizes, names, found)
    return {name: graph, f"{name}.int8": quantise(graph)}
