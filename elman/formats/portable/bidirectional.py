"""ELMo (Peters et al. 2018): a language model in both directions, and the mix of its layers.

Words come as symbols (B, T, L) and which of them are real (B, T).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from elman.formats.portable.layers import Recurrent
from elman.text.spelling import BEGIN, END, NOTHING, SYMBOLS

_ELMO_SYMBOLS = 262
_BEGIN_SENTENCE, _END_SENTENCE, _BEGIN_WORD, _END_WORD, _PADDING = 257, 258, 259, 260, 261


class HighwayLayer(nn.Module):
    """A gate carries part of the input around a layer."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.transform, self.gate = nn.Linear(size, size), nn.Linear(size, size)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        gate = torch.sigmoid(self.gate(values))
        return torch.lerp(values, torch.relu(self.transform(values)), gate)


class ElmoCharacters(nn.Module):
    """Vectors of words from filters over characters, highway layers and a projection."""

    translation: torch.Tensor  # symbols of elman to those of ELMo
    boundaries: torch.Tensor  # begin and end of sentence, spelled like words

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.widths, self.longest = settings["widths"], settings["longest"]
        size, projection = settings["character_size"], settings["projection"]
        self.vectors = nn.Embedding(_ELMO_SYMBOLS, size, padding_idx=0)
        self.filters = nn.ModuleList(
            nn.Linear(width * size, count)
            for width, count in zip(self.widths, settings["filters"], strict=True)
        )
        total = sum(settings["filters"])
        self.highways = nn.ModuleList(HighwayLayer(total) for _ in range(settings["highways"]))
        self.project = nn.Linear(total, projection) if total != projection else nn.Identity()
        translation = torch.arange(SYMBOLS)
        translation[[NOTHING, BEGIN, END]] = torch.tensor([_PADDING, _BEGIN_WORD, _END_WORD])
        self.register_buffer("translation", translation)
        marks = torch.full((2, self.longest), _PADDING)
        for row, mark in enumerate((_BEGIN_SENTENCE, _END_SENTENCE)):
            marks[row, :3] = torch.tensor([_BEGIN_WORD, mark, _END_WORD])
        self.register_buffer("boundaries", marks)

    def forward(self, spelled: torch.Tensor) -> torch.Tensor:
        """(N + 2, size): words in symbols (N, L), then begin and end of sentence."""
        spelled = nn.functional.pad(spelled, (0, self.longest))[:, : self.longest]
        symbols = self.translation[spelled]
        # A word that is cut gets an end mark, too.
        last = torch.where(symbols[:, -1:] == _PADDING, _PADDING, _END_WORD)
        symbols = torch.cat([torch.cat([symbols[:, :-1], last], dim=1), self.boundaries])
        vectors = self.vectors(symbols)
        found = []
        for width, filters in zip(self.widths, self.filters, strict=True):
            places = self.longest - width + 1
            windows = torch.cat([vectors[:, k : k + places] for k in range(width)], dim=2)
            found.append(filters(windows).amax(1))
        features = torch.relu(torch.cat(found, dim=1))
        for highway in self.highways:
            features = highway(features)
        return self.project(features)


class Reader(nn.Module):
    """LSTM layers of one direction."""

    def __init__(self, layers: list[dict[str, Any]], *, residual: bool) -> None:
        super().__init__()
        self.stack = nn.ModuleList(Recurrent(each) for each in layers)
        self.residual = residual

    def forward(
        self, inputs: torch.Tensor, real: torch.Tensor, *, reverse: bool
    ) -> list[torch.Tensor]:
        """The output of each layer, (B, T, size)."""
        outputs: list[torch.Tensor] = []
        for layer in self.stack:
            begun = layer.begin(inputs.shape[0])
            output, _ = layer(inputs, begun, real=real, reverse=reverse)
            inputs = inputs + output if outputs and self.residual else output
            outputs.append(inputs)
        return outputs


class Bidirectional(nn.Module):
    """The layers of a bidirectional language model for every word."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.vocabulary_size = settings["vocabulary_size"]
        self.reads_characters = True
        self.characters = ElmoCharacters(settings["characters"])
        self.readers = nn.ModuleList(
            Reader(layers, residual=settings["residual"]) for layers in settings["readers"]
        )

    def forward(self, real: torch.Tensor, spelled: torch.Tensor) -> torch.Tensor:
        """(K, B, T, size) of words (B, T, L): [left to right; right to left]; padding is zero."""
        table = self.characters(spelled.flatten(0, 1))
        rows = real.shape[0]
        words = table[:-2].view(*real.shape, -1)
        begin, end = (table[k].expand(rows, 1, -1) for k in (-2, -1))
        there = torch.ones_like(real[:, :1])
        onward = self.readers[0](
            torch.cat([begin, words], dim=1), torch.cat([there, real], dim=1), reverse=False
        )
        back = self.readers[1](
            torch.cat([words, end], dim=1), torch.cat([real, there], dim=1), reverse=True
        )
        layers = [torch.cat([words, words], dim=2)]
        layers += [
            torch.cat([left[:, 1:], right[:, :-1]], dim=2)
            for left, right in zip(onward, back, strict=True)
        ]
        return torch.stack(layers) * real.unsqueeze(2)


class Mix(nn.Module):
    """γ Σ_k softmax(w)_k h_k of the layers of a model."""

    def __init__(self, layers: int, *, layer_norm: bool) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers))
        self.scale = nn.Parameter(torch.ones(()))
        self.layer_norm = layer_norm

    def forward(self, layers: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        if self.layer_norm:
            layers = torch.stack([self._normalised(layer, real) for layer in layers.unbind(0)])
        return self.scale * torch.einsum("k,k...->...", self.weights.softmax(0), layers)

    @staticmethod
    def _normalised(layer: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        """Mean 0, variance 1 over all numbers of all real words of the batch."""
        inside = real.unsqueeze(2)
        count = inside.sum() * layer.shape[2]
        mean = (layer * inside).sum() / count
        variance = ((layer - mean).square() * inside).sum() / count
        return (layer - mean) / (variance + 1e-12).sqrt()


class ContextualVectors(nn.Module):
    """Mixed layers of a bidirectional language model, one mix for every use."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.model = Bidirectional(settings["model"])
        count = len(settings["model"]["readers"][0]) + 1
        self.mixes = nn.ModuleList(
            Mix(count, layer_norm=settings["layer_norm"]) for _ in range(settings["uses"])
        )

    def forward(self, real: torch.Tensor, spelled: torch.Tensor) -> list[torch.Tensor]:
        layers = self.model(real, spelled)
        return [mix(layers, real) for mix in self.mixes]
