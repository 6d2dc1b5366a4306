"""What an encoder reads of a word: its vector, its spelling, and what others know of it.

    words (B, T) ── table ──────────────┐
    spelled (N, L) ── characters ── (N, s) at its places ──┼── [;] ── features (B, T, size)
    layers of a frozen model, mixed ────┤
    further columns ── tables ──────────┘

Called by the encoders. In training, words that were seen once are now and then taken for unknown,
so that the vector of the unknown word is learned too (Lample et al. 2016).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

import torch
from torch import nn

from elman.batches.featured import FeaturedSentences
from elman.batches.sentences import Sentences
from elman.layers.dropout import check_rate
from elman.layers.hashing import affixes, into_table
from elman.layers.poolings import LastState
from elman.layers.stack import Stack, StackConfig
from elman.registry import Registry
from elman.text.word_list import BEGIN, SYMBOLS


class Spelling(nn.Module, ABC):
    """A vector from the characters of a word."""

    about: ClassVar[str]
    size: int  # of the vectors

    def __init__(self, character_size: int, size: int) -> None:
        super().__init__()
        self.size = size
        self.vectors = nn.Embedding(SYMBOLS, character_size, padding_idx=0)

    @abstractmethod
    def forward(self, spelled: torch.Tensor) -> torch.Tensor:
        """Vectors (N, size) of words in symbols (N, L), 0 after the end of each."""


class Nothing(Spelling):
    """Characters are not looked at."""

    about = "characters are not looked at"

    def __init__(self, character_size: int, size: int) -> None:
        super().__init__(1, 0)

    def forward(self, spelled: torch.Tensor) -> torch.Tensor:
        return self.vectors.weight.new_zeros(len(spelled), 0)


_WIDTH = 3


class Filters(Spelling):
    """Filters over characters, and the best match of each (dos Santos and Zadrozny 2014).

    f_j = max_i tanh(F_j · [c_{i-1}; c_i; c_{i+1}] + b_j)
    """

    about = "filters over three characters, the best match of each (Ma and Hovy 2016)"

    def __init__(self, character_size: int, size: int) -> None:
        super().__init__(character_size, size)
        self.filters = nn.Linear(_WIDTH * character_size, size)

    def forward(self, spelled: torch.Tensor) -> torch.Tensor:
        vectors = nn.functional.pad(self.vectors(spelled), (0, 0, 1, 1))
        windows = vectors.unfold(1, _WIDTH, 1).transpose(2, 3).flatten(2)  # (N, L, 3 · size)
        matches = self.filters(windows).masked_fill((spelled == 0).unsqueeze(2), -torch.inf)
        return torch.tanh(matches.amax(1))  # it keeps the order, so may come after the maximum


class RecurrentSpelling(Spelling):
    """A recurrence over characters in both directions, its last states (Lample et al. 2016)."""

    about = "LSTMs over the characters in both directions (Lample et al. 2016)"

    def __init__(self, character_size: int, size: int) -> None:
        super().__init__(character_size, size + size % 2)
        config = StackConfig(cell="lstm", hidden_size=self.size // 2, bidirectional=True)
        self.stack = Stack(character_size, config)
        self.last = LastState(self.size, directions=2)

    def forward(self, spelled: torch.Tensor) -> torch.Tensor:
        lengths = (spelled != 0).sum(1)
        run = self.stack(self.vectors(spelled), lengths=lengths)
        return self.last(run.outputs, lengths)


_LONGEST_AFFIX = 4  # bytes
_AFFIXES = 1 << 14  # that can be told apart
_CAPITAL, _SMALL, _DIGIT = (65, 90), (97, 122), (48, 57)  # bytes


class Affixes(Filters):
    """Filters, and beside them prefixes, suffixes and the shape of a word (Ratnaparkhi 1996).

    [filters; Σ vectors of the prefixes and suffixes of one to four bytes, and of its shape]
    """

    about = "filters over three characters, prefixes, suffixes and the shape of the word"

    def __init__(self, character_size: int, size: int) -> None:
        super().__init__(character_size, size)
        self.affix_vectors = nn.Embedding(_AFFIXES, size)
        nn.init.zeros_(self.affix_vectors.weight)  # one that training never sees says nothing
        self.size = 2 * size

    def forward(self, spelled: torch.Tensor) -> torch.Tensor:
        numbers, real = affixes(spelled, _LONGEST_AFFIX)
        numbers = torch.cat([numbers, shapes(spelled).unsqueeze(1)], 1)
        real = torch.cat([real, real.new_ones(len(real), 1)], 1)
        vectors = self.affix_vectors(into_table(numbers, _AFFIXES)) * real.unsqueeze(2)
        return torch.cat([super().forward(spelled), vectors.sum(1)], 1)


def shapes(spelled: torch.Tensor) -> torch.Tensor:
    """A number for the shape of each word: what it begins with, and what it has of letters, digits
    and other marks, (N,).
    """
    kinds = torch.stack([_within(spelled, *kind) for kind in (_CAPITAL, _SMALL, _DIGIT)], 2)
    marks = (spelled > 0) & (spelled < BEGIN) & ~kinds.any(2)
    found = torch.cat([kinds.any(1), kinds[:, 1], marks.any(1, keepdim=True)], 1)  # (N, 7)
    return (found * 2 ** torch.arange(7, device=spelled.device)).sum(1)


def _within(spelled: torch.Tensor, first: int, last: int) -> torch.Tensor:
    return (spelled > first) & (spelled <= last + 1)  # symbols are bytes plus one


SPELLINGS = Registry(
    "way of spelling",
    {"none": Nothing, "cnn": Filters, "affixes": Affixes, "rnn": RecurrentSpelling},
    group="spellings",
)


class ColumnFeatures(nn.Module):
    """Vectors of what else is known of words: a part of speech, a lemma, any column of a file.

        features (B, T, F) ── a table for each of the F columns ── [;] ── (B, T, F · size)

    Takes `FeaturedSentences`. A value that training never saw is
    number 0, whose vector begins as zero. It is learned where there are values that were seen once:
    as with words, these are now and then taken for unknown.
    """

    def __init__(self, counts: Sequence[torch.Tensor], size: int, unknown_rate: float) -> None:
        """`counts`: how often each value of a column came in training."""
        super().__init__()
        self.tables = nn.ModuleList(_Table(one, size, unknown_rate) for one in counts)
        with torch.no_grad():
            for table in self.tables:
                table.get_parameter("vectors.weight")[0] = 0
        self.size = size * len(counts)

    def forward(self, sentences: Sentences) -> torch.Tensor:
        """(B, T, size)."""
        assert isinstance(sentences, FeaturedSentences), "the task gives them, as it was learned"
        values = sentences.features.unbind(2)
        tables = cast("Sequence[_Table]", self.tables)
        vectors = [table.look_up(one) for table, one in zip(tables, values, strict=True)]
        return torch.cat(vectors, dim=2)


class _Table(nn.Module):
    """A vector for each word, or each value of a column; number 0 is the unknown one."""

    once: torch.Tensor  # (V,) bool: those that were seen a single time in training

    def __init__(self, counts: torch.Tensor, size: int, unknown_rate: float) -> None:
        super().__init__()
        self.vectors = nn.Embedding(len(counts), size)
        bound = (3 / size) ** 0.5
        nn.init.uniform_(self.vectors.weight, -bound, bound)
        self.unknown_rate = unknown_rate
        self.register_buffer("once", counts == 1)

    def look_up(self, values: torch.Tensor) -> torch.Tensor:
        """(B, T, size) of (B, T) numbers."""
        if self.training and self.unknown_rate:
            hidden = self.once[values] & (torch.rand(values.shape) < self.unknown_rate)
            values = values.masked_fill(hidden, 0)
        return self.vectors(values)


@dataclass(kw_only=True)
class FeatureConfig:
    """How words become vectors."""

    embedding_size: int = 100  # numbers per word vector
    characters: str = "cnn"  # elman list spellings
    character_size: int = 25  # numbers per character vector
    spelling_size: int = 50  # numbers per word that its characters give
    unknown_rate: float = 0.5  # how often a word that was seen once is taken for unknown
    dropout_features: float = 0.5  # of what an encoder reads

    def check(self) -> None:
        """Refuse what cannot be."""
        SPELLINGS.check(self.characters)
        check_rate(self.unknown_rate, "unknown_rate")
        check_rate(self.dropout_features, "dropout_features")


class WordFeatures(_Table):
    """Vectors of the words of sentences."""

    def __init__(
        self,
        counts: torch.Tensor,
        config: FeatureConfig,
        *,
        contextual_size: int = 0,
        columns: ColumnFeatures | None = None,
    ) -> None:
        """`contextual_size`: numbers per word that a frozen model adds, if there is one;
        `columns`: the vectors of what else is known of words.
        """
        super().__init__(counts, config.embedding_size, config.unknown_rate)
        self.spelling = SPELLINGS[config.characters](config.character_size, config.spelling_size)
        self.columns = columns
        self.size = config.embedding_size + self.spelling.size + contextual_size
        self.size += 0 if columns is None else columns.size

    def forward(self, sentences: Sentences, contextual: torch.Tensor | None = None) -> torch.Tensor:
        """(B, T, size); `contextual` (B, T, contextual_size): mixed layers of a frozen model."""
        parts = [self.look_up(sentences.words)]
        if self.spelling.size:
            parts.append(self.spelling(sentences.spelled)[sentences.places])
        if contextual is not None:
            parts.append(contextual)
        if self.columns is not None:
            parts.append(self.columns(sentences))
        return torch.cat(parts, dim=2)
