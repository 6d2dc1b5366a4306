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
        before = nn.functional.pad(words * known, (1, 0))[:, : words.shape[1]]
        numbers = [
            combine(words.unsqueeze(2), _WORD),
            combine(torch.stack([before, words], dim=2), _PAIR),
        ]
        there = [known, known & (before != 0)]
        for width in _CHARACTERS:
            ngrams, whole = character_ngrams(spelled, width)
            numbers.append(ngrams.flatten(1))
            there.append((whole & real.unsqueeze(2)).flatten(1))
        places = into_table(torch.cat(numbers, dim=1), self.vectors.num_embeddings)
        values = self.idf[places] * torch.cat(there, dim=1)
        values = values / values.square().sum(1, keepdim=True).sqrt().clamp(min=1e-6)
        return weighted_rows(self.vectors.weight, places, values)


class TagScores(nn.Module):
    """Scores of tags from words, affixes, shapes, and pairs of neighbours."""

    def __init__(self, table: int, tags: int) -> None:
        super().__init__()
        self.vectors = nn.Embedding(table, tags)

    def forward(
        self, words: torch.Tensor, real: torch.Tensor, spelled: torch.Tensor
    ) -> torch.Tensor:
        """(B, T, K)."""
        parts, exist = affixes(spelled, 4)
        found, there = [parts], [exist]
        for values, kind in ((words, _WORDS), (shapes(spelled), _SHAPES)):
            around, known = _neighbours(values.masked_fill(~real, _EDGE), kind)
            found.append(around)
            there.append(known)
        places = into_table(torch.cat(found, dim=2), self.vectors.num_embeddings)
        values = (torch.cat(there, dim=2) & real.unsqueeze(2)).to(self.vectors.weight)
        return weighted_rows(self.vectors.weight, places, values)


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
    """Sums (…, K) of the rows (…, F) of a table, each times its value."""
    if is_exporting():
        return (values.unsqueeze(-2) @ table[places]).squeeze(-2)
    sums = nn.functional.embedding_bag(
        places.flatten(0, -2), table, per_sample_weights=values.flatten(0, -2), mode="sum"
    )
    return sums.view(*places.shape[:-1], -1)
