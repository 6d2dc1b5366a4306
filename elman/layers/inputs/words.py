"""A table of word vectors: one row of numbers per word, looked up."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import embedding

from elman.layers.dropout import embedding_dropout
from elman.layers.inputs.input import Input, Material


class WordVectors(Input):
    """A row of a table for each word."""

    about = "a table of word vectors"

    def __init__(self, material: Material, *, embedding_size: int, dropout_words: float) -> None:
        super().__init__(material, embedding_size=embedding_size, dropout_words=dropout_words)
        self.size = embedding_size
        self.weight = nn.Parameter(torch.empty(material.vocabulary_size, embedding_size))
        nn.init.uniform_(self.weight, -0.1, 0.1)

    @property
    def table(self) -> torch.Tensor:
        return self.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return embedding(ids, embedding_dropout(self.weight, self.dropout_words, self.training))
