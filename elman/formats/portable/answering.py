"""Answers as spans of a passage: log probabilities of the first and the last word."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from elman.formats.portable.layers import Stack
from elman.formats.portable.sentences import WordFeatures, attention_pooled
from elman.formats.portable.spelling import shortened


class Answering(WordFeatures):
    """The reader of Chen et al. (2017)."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(settings)
        size = settings["input_size"]
        self.align = nn.Linear(size, size)
        self.question, self.passage = Stack(settings["question"]), Stack(settings["passage"])
        asked, read = settings["question_size"], settings["passage_size"]
        self.key = nn.Linear(asked, asked)
        self.query = nn.Parameter(torch.zeros(asked))
        self.start = nn.Linear(asked, read, bias=False)
        self.end = nn.Linear(asked, read, bias=False)

    def forward(
        self,
        question: tuple[torch.Tensor, ...],
        passage: tuple[torch.Tensor, ...],
        matched: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """(B, P) each; question and passage: ids, real, characters; `matched` (B, P): words of the
        passage that the question has too.
        """
        asked = self._read(*question)
        read = self._read(*passage)
        keys = torch.relu(self.align(read)), torch.relu(self.align(asked))
        scores = keys[0] @ keys[1].transpose(1, 2)
        aligned = scores.masked_fill(~question[1].unsqueeze(1), -torch.inf).softmax(2) @ asked
        features = torch.cat([read, aligned, matched.unsqueeze(2).to(read.dtype)], dim=2)
        vector = attention_pooled(
            self.key, self.query, self._layers(self.question, asked, question[1]), question[1]
        )
        hidden = self._layers(self.passage, features, passage[1])
        starts, ends = (
            (hidden @ pointer(vector).unsqueeze(2))
            .squeeze(2)
            .masked_fill(~passage[1], -torch.inf)
            .log_softmax(1)
            for pointer in (self.start, self.end)
        )
        return starts, ends

    def _read(
        self, ids: torch.Tensor, real: torch.Tensor, characters: torch.Tensor | None = None
    ) -> torch.Tensor:
        spelled = shortened(characters) if characters is not None else None
        return self.features(ids, real, spelled)[0]

    @staticmethod
    def _layers(stack: Stack, values: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        """The outputs of all layers, side by side."""
        outputs, _ = stack.run(values, stack.begin(values.shape[0]), real)
        return torch.cat(outputs, dim=2)
