"""Scores of tags from hashed features of a word and its neighbours: the features of a linear CRF.

    words, affixes, shapes, columns, pairs ── places in a table ── weights ── scores (B, T, K)

A tagger adds them to the scores of its network. With a few hundred sentences, a linear CRF over
such features (Lafferty et al. 2001, Sha and Pereira 2003) is hard to beat with a network alone.
"""

from __future__ import annotations

import torch
from torch import nn

from elman.batches.featured import FeaturedSentences
from elman.batches.sentences import Sentences
from elman.layers.dropout import dropout
from elman.layers.hashing import affixes, combine, into_table, shapes

_LONGEST_AFFIX = 4  # bytes
_REACH = 2  # words on each side
_PAIRS = ((-1, 0), (0, 1))
_EDGE = -1  # the value before the first and after the last word
_UNKNOWN = 0  # the value of a word or column that training never saw: no feature
_KINDS = 16  # numbers of features of one series; affixes have 2 to 9
_WORDS, _SHAPES, _COLUMNS = _KINDS, 2 * _KINDS, 3 * _KINDS  # first number of each series


class TagScores(nn.Module):
    """One weight per feature and tag, initially zero."""

    def __init__(self, tags: int, *, table: int, dropout: float) -> None:
        """`table`: the size of the hash table; `dropout`: how many features of a word to drop."""
        super().__init__()
        self.table = table
        self.dropout = dropout
        self.vectors = nn.Embedding(table, tags)
        nn.init.zeros_(self.vectors.weight)  # a feature unseen in training adds nothing

    def forward(self, sentences: Sentences) -> torch.Tensor:
        """Scores (B, T, K)."""
        places, real = self._features(sentences)
        values = dropout(real.to(self.vectors.weight), self.dropout, self.training)
        scores: torch.Tensor = nn.functional.embedding_bag(
            places.flatten(0, 1),
            self.vectors.weight,
            per_sample_weights=values.flatten(0, 1),
            mode="sum",
        )
        return scores.view(*places.shape[:2], -1)

    def _features(self, sentences: Sentences) -> tuple[torch.Tensor, torch.Tensor]:
        """Places in the table (B, T, F), and which features exist."""
        real = sentences.real()
        # A shape is never 0, the unknown value: at least one bit is set for every word.
        series = [(sentences.words, _WORDS), (shapes(sentences.spelled)[sentences.places], _SHAPES)]
        if isinstance(sentences, FeaturedSentences):
            columns = sentences.features.unbind(2)
            series += [(one, _COLUMNS + _KINDS * place) for place, one in enumerate(columns)]
        numbers, there = affixes(sentences.spelled, _LONGEST_AFFIX)
        found, exist = [numbers[sentences.places]], [there[sentences.places]]
        for values, kind in series:
            around, known = _neighbours(values.masked_fill(~real, _EDGE), kind)
            found.append(around)
            exist.append(known)
        exists = torch.cat(exist, 2) & real.unsqueeze(2)
        return into_table(torch.cat(found, 2), self.table), exists


def _neighbours(values: torch.Tensor, kind: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Numbers of the values around each place and of pairs of them, (B, T, 7), and which exist."""
    length = values.shape[1]
    padded = nn.functional.pad(values, (_REACH, _REACH), value=_EDGE)
    near = {
        offset: padded[:, _REACH + offset : _REACH + offset + length]
        for offset in range(-_REACH, _REACH + 1)
    }
    groups = [(offset,) for offset in near] + [*_PAIRS]
    found, known = [], []
    for number, offsets in enumerate(groups):
        parts = torch.stack([near[offset] for offset in offsets], 2)
        found.append(combine(parts, kind + number))
        known.append((parts != _UNKNOWN).all(2))
    return torch.stack(found, 2), torch.stack(known, 2)
