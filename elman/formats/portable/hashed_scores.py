"""Linear scores of labels and tags, from hashed features of words.

Words come as ids (B, T), which of them are real (B, T), and as symbols (B, T, L).
"""

from __future__ import annotations

import torch
from torch import nn

from elman.formats.portable.spelling import is_exporting
from elman.layers.hashing import affixes, character_ngrams, combine, into_table, shapes

# As in elman: each kind of feature has its own numbers.
_CHARACTERS = (3, 4, 5)
_PAIR, _WORD = 9, 10
_SCALE = 8.0
_WORDS, _SHAPES = 16, 32
_REACH, _EDGE = 2, -1


class NgramScores(nn.Module):
    """Scores of labels from the tf-idf vector of words, pairs of words and 3 to 5 characters."""

    def __init__(self, table: int, labels: int) -> None:
        super().__init__()
        self.vectors = nn.Embedding(table, labels)
        self.register_buffer("idf", torch.ones(table))

    def forward(
        self, words: torch.Tensor, real: torch.Tensor, spelled: torch.Tensor
    ) -> torch.Tensor:
        """(B, K)."""
        known = real & (words != 0)
        numbers = [
            combine(words.unsqueeze(2), _WORD),
            combine(torch.stack([_before(words), words], dim=2), _PAIR),
        ]
        there = [known, known & _before(known)]
        for width in _CHARACTERS:
            ngrams, whole = character_ngrams(spelled.flatten(0, 1), width)
            numbers.append(ngrams.view(*words.shape, -1).flatten(1))
            there.append((whole.view(*words.shape, -1) & real.unsqueeze(2)).flatten(1))
        places = into_table(torch.cat(numbers, dim=1), self.vectors.num_embeddings)
        values = self.idf[places] * torch.cat(there, dim=1)
        values = values / values.square().sum(1, keepdim=True).sqrt().clamp(min=1e-6)
        return _SCALE * weighted_rows(self.vectors.weight, places, values)


class TagScores(nn.Module):
    """Scores of tags from words, affixes, shapes, and pairs of neighbours."""

    def __init__(self, table: int, tags: int) -> None:
        super().__init__()
        self.vectors = nn.Embedding(table, tags)

    def forward(
        self, words: torch.Tensor, real: torch.Tensor, spelled: torch.Tensor
    ) -> torch.Tensor:
        """(B, T, K)."""
        each = spelled.flatten(0, 1)
        parts, exist = affixes(each, 4)
        shape = shapes(each).view(words.shape)
        found = [parts.view(*words.shape, -1)]
        there = [exist.view(*words.shape, -1)]
        for values, kind in ((words, _WORDS), (shape, _SHAPES)):
            around, known = _neighbours(values.masked_fill(~real, _EDGE), kind)
            found.append(around)
            there.append(known)
        places = into_table(torch.cat(found, dim=2), self.vectors.num_embeddings)
        values = (torch.cat(there, dim=2) & real.unsqueeze(2)).to(self.vectors.weight)
        scores = weighted_rows(self.vectors.weight, places.flatten(0, 1), values.flatten(0, 1))
        return scores.view(*words.shape, -1)


def _before(values: torch.Tensor) -> torch.Tensor:
    """The value before each place, (B, T); zero before the first."""
    return torch.cat([torch.zeros_like(values[:, :1]), values[:, :-1]], dim=1)


def _neighbours(values: torch.Tensor, kind: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Numbers of the values around each place and of pairs of them, (B, T, 7), and which exist."""
    length = values.shape[1]
    padded = nn.functional.pad(values, (_REACH, _REACH), value=_EDGE)
    near = [padded[:, k : k + length] for k in range(2 * _REACH + 1)]
    groups = [*([one] for one in near), near[1:3], near[2:4]]
    found, known = [], []
    for number, group in enumerate(groups):
        parts = torch.stack(group, dim=2)
        found.append(combine(parts, kind + number))
        known.append((parts != 0).all(2))
    return torch.stack(found, dim=2), torch.stack(known, dim=2)


def weighted_rows(table: torch.Tensor, places: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Sums (N, K) of the rows (N, F) of a table, each times its value."""
    if is_exporting():
        return (values.unsqueeze(1) @ table[places]).squeeze(1)
    return nn.functional.embedding_bag(places, table, per_sample_weights=values, mode="sum")
