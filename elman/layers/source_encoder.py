"""Sources to what a decoder is told of them: a vector for each place, and one for the whole.

    ids      ── word vectors ── recurrent layers ── values h_1 … h_S,   summary [→h_S; ←h_1]
    vectors  ── a linear map, tanh ──────────────── values,             summary: their mean

Takes a `Source`, gives values (B, S, size) and summary (B, size); what it gives for a row does not
depend on what stands beside it. Called by the encoder–decoder.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from elman.batches.sources import Source
from elman.layers.dropout import dropout
from elman.layers.padding import real_tokens
from elman.layers.stack import Stack, StackConfig


class TextEncoder(nn.Module):
    """Recurrent layers over the words of a source."""

    def __init__(self, input_size: int, config: StackConfig) -> None:
        super().__init__()
        self.stack = Stack(input_size, config)
        self.size = self.stack.output_size
        # Of an output, so many numbers at its end were read from right to left.
        self.backward_size = config.sizes()[-1] if config.bidirectional else 0
        if self.backward_size:
            self.backward_size = self.stack.layers[-1].directions[1].output_size

    def forward(
        self, source: Source, embed: Callable[[torch.Tensor], torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Values and summary; `embed` gives vectors (B, S, input_size) of ids."""
        assert source.ids is not None, "this model reads text"
        run = self.stack(embed(source.ids), lengths=source.lengths, outputs_only=True)
        values: torch.Tensor = run.outputs
        raw = run.raw_outputs
        last = raw[torch.arange(len(raw), device=raw.device), source.lengths - 1]
        if not self.backward_size:
            return values, last
        onward = self.size - self.backward_size
        return values, torch.cat([last[:, :onward], raw[:, 0, onward:]], dim=1)


class VectorEncoder(nn.Module):
    """A linear map of given vectors."""

    def __init__(self, features: int, size: int, dropout: float) -> None:
        super().__init__()
        self.features, self.size, self.dropout = features, size, dropout
        self.map = nn.Linear(features, size)

    def forward(
        self, source: Source, embed: Callable[[torch.Tensor], torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Values and summary; there is nothing to embed."""
        assert source.vectors is not None, "this model reads vectors"
        values = torch.tanh(self.map(source.vectors.to(self.map.weight)))
        values = values * real_tokens(values, source.lengths).unsqueeze(2)
        mean = values.sum(1) / source.lengths.unsqueeze(1)
        return dropout(values, self.dropout, self.training), mean
