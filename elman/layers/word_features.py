"""Word features: word vectors, characters, layers of a frozen model, and further columns.

    words (B, T) ── table ──────────────┐
    spelled (N, L) ── characters ── (N, s) at its places ──┼── [;] ── features (B, T, size)
    layers of a frozen model, mixed ────┤
    further columns ── tables ──────────┘

Called by the encoders. In training, words that occur once are sometimes replaced by the unknown
word, so that its vector is trained too (Lample et al. 2016).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
import torch
from torch import nn

from elman.batches.featured import FeaturedSentences
from elman.batches.sentences import Sentences
from elman.config import at_least
from elman.errors import InputError
from elman.layers.dropout import check_rate
from elman.layers.hashing import affixes, into_table, shapes
from elman.layers.inputs import fill_rows
from elman.layers.poolings import LastState
from elman.layers.stack import Stack, StackConfig
from elman.matrix_products import LinearLayer
from elman.registry import Registry
from elman.text.spelling import SYMBOLS


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
    """No characters."""

    about = "no character features"

    def __init__(self, character_size: int, size: int) -> None:
        super().__init__(1, 0)

    def forward(self, spelled: torch.Tensor) -> torch.Tensor:
        return self.vectors.weight.new_zeros(len(spelled), 0)


_WIDTH = 3


class Filters(Spelling):
    """Character filters and the best match of each (dos Santos and Zadrozny 2014).

    f_j = max_i tanh(F_j · [c_{i-1}; c_i; c_{i+1}] + b_j)
    """

    about = "filters over three characters with max pooling (Ma and Hovy 2016)"

    def __init__(self, character_size: int, size: int) -> None:
        super().__init__(character_size, size)
        self.filters = LinearLayer(_WIDTH * character_size, size)

    def forward(self, spelled: torch.Tensor) -> torch.Tensor:
        vectors = nn.functional.pad(self.vectors(spelled), (0, 0, 1, 1))
        windows = vectors.unfold(1, _WIDTH, 1).transpose(2, 3).flatten(2)  # (N, L, 3 · size)
        matches = self.filters(windows).masked_fill((spelled == 0).unsqueeze(2), -torch.inf)
        return torch.tanh(matches.amax(1))  # monotone, so it may follow the maximum


class RecurrentSpelling(Spelling):
    """The last states of a bidirectional LSTM over characters (Lample et al. 2016)."""

    about = "bidirectional LSTM over the characters (Lample et al. 2016)"

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
_AFFIXES = 1 << 14  # size of the hash table


class Affixes(Filters):
    """Character filters, prefixes, suffixes and the shape of a word (Ratnaparkhi 1996).

    [filters; Σ vectors of the prefixes and suffixes of one to four bytes, and of the shape]
    """

    about = "filters over three characters, prefixes, suffixes and the shape of the word"

    def __init__(self, character_size: int, size: int) -> None:
        super().__init__(character_size, size)
        self.affix_vectors = nn.Embedding(_AFFIXES, size)
        nn.init.zeros_(self.affix_vectors.weight)  # an affix unseen in training adds nothing
        self.size = 2 * size

    def forward(self, spelled: torch.Tensor) -> torch.Tensor:
        numbers, real = affixes(spelled, _LONGEST_AFFIX)
        numbers = torch.cat([numbers, shapes(spelled).unsqueeze(1)], 1)
        real = torch.cat([real, real.new_ones(len(real), 1)], 1)
        vectors = self.affix_vectors(into_table(numbers, _AFFIXES)) * real.unsqueeze(2)
        return torch.cat([super().forward(spelled), vectors.sum(1)], 1)


SPELLINGS = Registry(
    "way of spelling",
    {"none": Nothing, "cnn": Filters, "affixes": Affixes, "rnn": RecurrentSpelling},
    group="spellings",
)


class ColumnFeatures(nn.Module):
    """Vectors of further columns of a file, such as parts of speech or lemmas.

        features (B, T, F) ── a table for each of the F columns ── [;] ── (B, T, F · size)

    Takes `FeaturedSentences`. A value unseen in training is number 0, whose initial vector is zero.
    It is trained if some values occur once: like words, these are sometimes replaced by number 0.
    """

    def __init__(self, counts: Sequence[torch.Tensor], size: int, unknown_rate: float) -> None:
        """`counts`: how often each value of a column occurs in the training data."""
        super().__init__()
        self.tables = nn.ModuleList(_Table(one, size, unknown_rate) for one in counts)
        with torch.no_grad():
            for table in self.tables:
                table.get_parameter("vectors.weight")[0] = 0
        self.size = size * len(counts)

    def forward(self, sentences: Sentences) -> torch.Tensor:
        """(B, T, size)."""
        assert isinstance(sentences, FeaturedSentences), "the columns are missing"
        values = sentences.features.unbind(2)
        tables = cast("Sequence[_Table]", self.tables)
        vectors = [table.look_up(one) for table, one in zip(tables, values, strict=True)]
        return torch.cat(vectors, dim=2)


class _Table(nn.Module):
    """A table of vectors of words, or of values of a column; number 0 is unknown.

    The last words may be unseen in training: their count is 0, and their vectors stay fixed.
    """

    once: torch.Tensor  # (V,) bool: those that occur once in the training data
    unseen: torch.Tensor | None  # (U, size): the vectors of unseen words

    def __init__(self, counts: torch.Tensor, size: int, unknown_rate: float) -> None:
        super().__init__()
        unseen = int((counts[1:] == 0).sum())
        self.vectors = nn.Embedding(len(counts) - unseen, size)
        bound = (3 / size) ** 0.5
        nn.init.uniform_(self.vectors.weight, -bound, bound)
        self.unknown_rate = unknown_rate
        self.register_buffer("once", counts == 1)
        self.register_buffer("unseen", torch.zeros(unseen, size) if unseen else None)

    def set_vectors(self, vectors: torch.Tensor) -> None:
        """Replace the vectors of all words, (V, size)."""
        trained = self.vectors.num_embeddings
        self.vectors.weight.copy_(vectors[:trained])
        if self.unseen is not None:
            self.unseen.copy_(vectors[trained:])

    def look_up(self, values: torch.Tensor) -> torch.Tensor:
        """(B, T, size) of (B, T) numbers."""
        if self.training and self.unknown_rate:
            hidden = self.once[values] & (torch.rand(values.shape) < self.unknown_rate)
            values = values.masked_fill(hidden, 0)
        if self.unseen is None:
            return self.vectors(values)
        known = values < self.vectors.num_embeddings
        others = self.unseen[(values - self.vectors.num_embeddings).clamp(min=0)]
        return self.vectors(values.where(known, 0)).where(known.unsqueeze(-1), others)


@dataclass(kw_only=True)
class FeatureConfig:
    """Settings of word features."""

    embedding_size: int = 100  # numbers per word vector
    vectors: str = ""  # start from word vectors: word2vec, GloVe, fastText .vec, a word2vec run
    vectors_words: int = 50_000  # words of the vectors that training lacks, added to the vocabulary
    vectors_fixed: bool = False  # do not train the word vectors
    characters: str = "cnn"  # elman list spellings
    character_size: int = 25  # numbers per character vector
    spelling_size: int = 50  # size of the character features of a word
    unknown_rate: float = 0.5  # how often words that occur once are replaced by the unknown word
    dropout_features: float = 0.5  # dropout of the input of the encoder

    def check(self) -> None:
        """Raise if a setting is invalid."""
        SPELLINGS.check(self.characters)
        check_rate(self.unknown_rate, "unknown_rate")
        at_least(self.vectors_words, 0, "model.vectors_words")
        if self.vectors_fixed and not self.vectors:
            raise InputError("model.vectors_fixed=true: name the vectors, as in model.vectors=FILE")
        check_rate(self.dropout_features, "dropout_features")


class WordFeatures(_Table):
    """Vectors of the words of sentences.

    Words that training lacks, but pretrained vectors or a language model have, come last.
    """

    def __init__(
        self,
        counts: torch.Tensor,
        config: FeatureConfig,
        *,
        contextual_size: int = 0,
        columns: ColumnFeatures | None = None,
    ) -> None:
        """`contextual_size`: numbers per word from a frozen model, if any;
        `columns`: the vectors of further columns.
        """
        super().__init__(counts, config.embedding_size, config.unknown_rate)
        self.vectors.requires_grad_(not config.vectors_fixed)
        self.spelling = SPELLINGS[config.characters](config.character_size, config.spelling_size)
        self.columns = columns
        self.size = config.embedding_size + self.spelling.size + contextual_size
        self.size += 0 if columns is None else columns.size

    @torch.no_grad()
    def start_from(self, numbers: np.ndarray, vectors: np.ndarray, further: np.ndarray) -> None:
        """Start from pretrained vectors of some words, and of those that training lacks."""
        fill_rows(self.vectors.weight, numbers, vectors)
        self.once[torch.from_numpy(numbers)] = False  # these need not learn to be unknown
        if self.unseen is not None:
            self.unseen.copy_(torch.from_numpy(further))

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
