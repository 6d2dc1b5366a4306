"""Input layers: turn ids into vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch import nn
from torch.nn.functional import embedding

from elman.errors import InputError
from elman.layers.dropout import embedding_dropout
from elman.matrix_products import LinearLayer
from elman.registry import Registry
from elman.state import State
from elman.text.spelling import NOTHING, SYMBOLS, spell


@dataclass(frozen=True)
class Material:
    """The training data that a model is built from, in addition to its settings."""

    counts: torch.Tensor  # (V,): how often each token occurs in the training text
    eos_id: int
    tokens: Sequence[str] | None = None  # spelling of each token; None: it will be loaded
    ids: np.ndarray | None = None  # the training text; None: trained parts will be loaded

    @property
    def vocabulary_size(self) -> int:
        """The number of tokens."""
        return len(self.counts)


class Input(nn.Module, ABC):
    """Vectors of ids."""

    about: ClassVar[str]
    size: int  # size of the vectors

    def __init__(self, material: Material, *, embedding_size: int, dropout_words: float) -> None:
        """`dropout_words`: the share of the vocabulary that is dropped in a training step."""
        super().__init__()
        self.dropout_words = dropout_words

    @property
    def table(self) -> torch.Tensor | None:
        """The word vectors, (V, embedding_size), if an output can share them."""
        return None

    @abstractmethod
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """A vector for each id."""

    def multiplications(self, step_tokens: int) -> float:
        """Multiply-adds per token of a step with this many tokens, forward only."""
        return 0.0


def expected_distinct(counts: torch.Tensor, tokens: int) -> float:
    """The expected number of distinct words among this many tokens."""
    frequency = counts.double() / counts.sum().clamp(min=1)
    return float((1 - (1 - frequency).pow(tokens)).sum())


class WordVectors(Input):
    """An embedding table: one vector per word."""

    about = "a table of word vectors (embeddings)"
    sparse = False  # whether its gradients have only the rows of the words that were read

    def __init__(self, material: Material, *, embedding_size: int, dropout_words: float) -> None:
        super().__init__(material, embedding_size=embedding_size, dropout_words=dropout_words)
        self.size = embedding_size
        self.weight = nn.Parameter(torch.empty(material.vocabulary_size, embedding_size))
        nn.init.uniform_(self.weight, -0.1, 0.1)

    @property
    def table(self) -> torch.Tensor:
        return self.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        weight = embedding_dropout(self.weight, self.dropout_words, self.training)
        return embedding(ids, weight, sparse=self.sparse)


@torch.no_grad()
def fill_rows(weight: torch.Tensor, numbers: np.ndarray, vectors: np.ndarray) -> None:
    """Set rows of a table to given vectors; the others keep their values, at the same scale."""
    if len(numbers):
        weight.mul_(float(vectors.std()) / weight.std().clamp(min=1e-12))
        weight[torch.from_numpy(numbers)] = torch.from_numpy(vectors).to(weight)


class CharacterFilters(Input):
    """Word vectors from characters: filters, the best match of each, highway layers.

        c_1 … c_l                                characters of a word, as vectors; begin and end too
        f_j = max_i tanh(F_j · [c_i; …; c_{i+w-1}] + b_j)      best match of a filter of width w
        y   = t ⊙ relu(H f + b) + (1 - t) ⊙ f                  t = σ(T f + b_t): a highway layer

    (Kim et al. 2016.) Characters are bytes of UTF-8, so every text can be spelled. A word is
    computed once for all its occurrences in a batch. Words with similar spelling share parameters,
    so rare words get better vectors than from a table.
    """

    about = "character filters and highway layers (Kim et al. 2016)"

    def __init__(
        self,
        material: Material,
        *,
        character_size: int = 15,
        widths: tuple[int, ...] = (1, 2, 3, 4, 5, 6),
        filters: tuple[int, ...] = (25, 50, 75, 100, 125, 150),
        highways: int = 1,
        longest: int = 30,
        **sizes: Any,
    ) -> None:
        """`filters` of each of the `widths`; only the first `longest` bytes of a word are read."""
        super().__init__(material, **sizes)
        if len(widths) != len(filters) or not widths or min(*widths, *filters, longest) < 1:
            raise InputError(
                f"widths={list(widths)}, filters={list(filters)}: as many of each, all at least 1"
            )
        self.size = sum(filters)
        self.widths = widths
        self.vectors = nn.Parameter(torch.empty(SYMBOLS, character_size).uniform_(-0.1, 0.1))
        self.filters = nn.ModuleList(
            LinearLayer(width * character_size, count)
            for width, count in zip(widths, filters, strict=True)
        )
        self.highways = nn.ModuleList(Highway(self.size) for _ in range(highways))
        tokens = material.tokens or [""] * material.vocabulary_size  # to be loaded
        spelled = spell(tokens, longest)
        self.register_buffer("spelled", torch.from_numpy(spelled))
        self._counts = material.counts
        self._places = longest + 2

    spelled: torch.Tensor  # (V, longest + 2)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        distinct, places = torch.unique(ids, return_inverse=True)
        vectors = self.spell_out(self.spelled[distinct].long())
        # One mask for the vocabulary, so it does not depend on the words of the batch.
        kept = embedding_dropout(
            vectors.new_ones(len(self.spelled), 1), self.dropout_words, self.training
        )
        return embedding(places, vectors * kept[distinct])

    def spell_out(self, spelled: torch.Tensor) -> torch.Tensor:
        """Vectors (N, size) of words in symbols (N, L)."""
        lengths = (spelled != NOTHING).sum(1)
        spelled = spelled[:, : int(lengths.max())]
        # Padding is always a zero vector, even if training changed its row.
        vectors = embedding(spelled, self.vectors) * (spelled != NOTHING).unsqueeze(2)
        found = [
            _best_match(vectors, lengths, width, filters)
            for width, filters in zip(self.widths, self.filters, strict=True)
        ]
        features = torch.tanh(torch.cat(found, dim=1))  # monotone, so it may follow the maximum
        for highway in self.highways:
            features = highway(features)
        return features

    def multiplications(self, step_tokens: int) -> float:
        """Multiply-adds of the distinct words of a step, all padded to the longest."""
        longest = int((self.spelled != NOTHING).sum(1).max()) or self._places
        per_word: float = (
            sum(
                cast("nn.Linear", filters).weight.numel() * max(1, longest - width + 1)
                for width, filters in zip(self.widths, self.filters, strict=True)
            )
            + len(self.highways) * 2 * self.size**2
        )
        return per_word * expected_distinct(self._counts, step_tokens) / max(step_tokens, 1)


class Highway(nn.Module):
    """A highway layer: a gate carries part of the input around it (Srivastava et al. 2015)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.transform = LinearLayer(size, size)
        self.gate = LinearLayer(size, size)
        nn.init.constant_(self.gate.bias, -2.0)  # at first it carries most of its input

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """The same size, (N, size)."""
        gate = torch.sigmoid(self.gate(values))
        return torch.lerp(values, torch.relu(self.transform(values)), gate)


def _best_match(
    vectors: torch.Tensor, lengths: torch.Tensor, width: int, filters: nn.Module
) -> torch.Tensor:
    """The best match of each filter, (N, filters).

    vectors (N, L, size). A filter stays within the word, unless the word is too short for it.
    """
    missing = width - vectors.shape[1]
    if missing > 0:
        vectors = nn.functional.pad(vectors, (0, 0, 0, missing))
    windows = vectors.unfold(1, width, 1).transpose(2, 3).flatten(2)  # (N, places, width · size)
    matches = filters(windows)
    last = (lengths - width).clamp(min=0)
    places = torch.arange(matches.shape[1], device=lengths.device)
    outside = places > last[:, None]
    return matches.masked_fill(outside.unsqueeze(2), -torch.inf).amax(1)


INPUTS = Registry(
    "input",
    {"words": WordVectors, "characters": CharacterFilters},
    group="inputs",
)


_ROUNDS = 4
_WINDOWS_AT_A_TIME = 2048  # windows at a time, to limit memory


class TopicContext(nn.Module):
    """Topics of the recent words, as further input of a network (Mikolov and Zweig 2012).

        r_iz ∝ θ_z P(w_i | z)                  the topic of each recent word
        θ_z  ∝ share_z + Σ_i r_iz              the topics of the text; both repeated a few times

    The words of a topic were learned before (`counts/topics.py`). Sentences that the network has
    forgotten still tell the topic of the text. (The paper multiplies P(topic | word) over the
    recent words, which soon leaves a single topic; the mixture predicts the next word better.)
    """

    def __init__(self, in_topics: torch.Tensor, share: torch.Tensor, window: int) -> None:
        """`in_topics` (V, topics): P(word | topic); `share` (topics,): P(topic)."""
        super().__init__()
        self.window = window
        self.register_buffer("in_topics", in_topics)
        self.register_buffer("share", share)

    in_topics: torch.Tensor
    share: torch.Tensor

    def begin(self, batch_size: int) -> State:
        """The initial state: no recent words."""
        return torch.full((batch_size, self.window), -1, device=self.share.device)

    def forward(self, ids: torch.Tensor, carried: State) -> tuple[torch.Tensor, State]:
        """Topics after each of the ids, (B, T, topics), and the recent words after all of them."""
        known = torch.cat([cast("torch.Tensor", carried), ids], dim=1)
        windows = known.unfold(1, self.window, 1)[:, 1:].flatten(0, 1)
        topics = torch.cat([self._infer(part) for part in torch.split(windows, _WINDOWS_AT_A_TIME)])
        return topics.view(*ids.shape, -1), known[:, ids.shape[1] :]

    def _infer(self, words: torch.Tensor) -> torch.Tensor:
        """The topic mixture of each window of words, (N, topics)."""
        likely = self.in_topics[words.clamp(min=0)] * (words >= 0).unsqueeze(2)  # (N, n, topics)
        mixture = self.share.expand(len(words), -1)
        for _ in range(_ROUNDS):
            together = torch.bmm(likely, mixture.unsqueeze(2)).clamp(min=1e-30)  # (N, n, 1)
            mixture = self.share + mixture * torch.bmm(
                likely.transpose(1, 2), together.reciprocal()
            ).squeeze(2)
            mixture = mixture / mixture.sum(1, keepdim=True)
        return mixture
