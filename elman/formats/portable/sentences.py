"""Classifiers and taggers: scores of the labels of a text, or of the tags of its words.

ids (B, T) ── word vectors ─┐
characters (B, T, L) ───────┴── recurrent layers or a window ── pooling ── scores of labels (B, K)
                                                             └── scores of tags (B, T, K)

`real` (B, T): words that are no padding, which may come before and after a text.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.functional import logsigmoid

from elman.formats.portable.bidirectional import ContextualVectors
from elman.formats.portable.hashed_scores import NgramScores, TagScores
from elman.formats.portable.layers import Stack, unroll
from elman.formats.portable.spelling import SPELLINGS, shortened


class WordFeatures(nn.Module):
    """Vectors of words: from a table, from characters, from a bidirectional language model."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.vocabulary_size = settings["vocabulary_size"]
        self.reads_characters = settings["reads_characters"]
        self.input = nn.Embedding(self.vocabulary_size, settings["embedding_size"])
        spelling, contextual = settings["spelling"], settings["contextual"]
        self.spelling = SPELLINGS[spelling["kind"]](spelling) if spelling else None
        self.contextual = ContextualVectors(contextual) if contextual else None

    def features(
        self, ids: torch.Tensor, real: torch.Tensor, characters: torch.Tensor | None
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """(B, T, size), zero at padding; and vectors (B, T, size) that join the output."""
        parts, further = [self.input(ids)], []
        if self.spelling is not None:
            vectors = self.spelling(characters.flatten(0, 1))
            parts.append(vectors.view(*ids.shape, -1))
        if self.contextual is not None:
            first, *further = self.contextual(real, characters)
            parts.append(first)
        return torch.cat(parts, dim=2) * real.unsqueeze(2), further


class Sentences(WordFeatures):
    """Word features, and layers or a window over them: a hidden vector for every word."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(settings)
        self.width = settings["window"]
        self.window: Any = None
        self.stack: Any = None
        if self.width is None:
            self.stack = Stack(settings["layers"])
        else:
            read = (2 * self.width + 1) * settings["input_size"]
            self.window = nn.Linear(read, settings["window_size"])

    def hidden(
        self, ids: torch.Tensor, real: torch.Tensor, characters: torch.Tensor | None
    ) -> torch.Tensor:
        """(B, T, size)."""
        vectors, further = self.features(ids, real, characters)
        if self.stack is not None:
            hidden, _ = self.stack(vectors, self.stack.begin(ids.shape[0]), real)
        else:
            around = nn.functional.pad(vectors, (0, 0, self.width, self.width))
            parts = [around[:, k : k + ids.shape[1]] for k in range(2 * self.width + 1)]
            hidden = torch.tanh(self.window(torch.cat(parts, dim=2)))
        return torch.cat([hidden, *further], dim=2)

    def spelled(self, characters: torch.Tensor | None) -> torch.Tensor | None:
        """The characters, if the model reads them."""
        if not self.reads_characters:
            return None
        if characters is None:
            raise ValueError(
                "this model reads the characters of words: pass `characters` (B, T, L), which its "
                "tokenizer gives"
            )
        return shortened(characters)


class Classifying(Sentences):
    """Scores of the labels of a text, or of a pair of texts."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(settings)
        self.pooling, self.directions = settings["pooling"], settings["directions"]
        self.temperature, self.several = settings["temperature"], settings["several"]
        self.texts, size = settings["texts"], settings["hidden_size"]
        if self.pooling == "attention":
            self.key = nn.Linear(size, size)
            self.query = nn.Parameter(torch.zeros(size))
        pooled = size * (3 if self.pooling == "concat" else 1) * (4 if self.texts == 2 else 1)
        self.scores = nn.Linear(pooled, settings["labels"])
        self.ngrams = nn.ModuleList(
            NgramScores(settings["ngram_table"], settings["labels"])
            for _ in range(self.texts if settings["ngram_table"] else 0)
        )

    def forward(
        self,
        ids: torch.Tensor,
        real: torch.Tensor,
        characters: torch.Tensor | None = None,
        second: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """(B, K); `second` (B, T): words of the second text of a pair."""
        spelled = self.spelled(characters)
        if self.texts == 1:
            texts = [real]
        elif second is None:
            raise ValueError(
                "this model classifies pairs: pass both texts, as `text` and `text_pair`"
            )
        else:
            texts = [real & ~second, real & second]
        pooled = [self._pooled(ids, part, spelled) for part in texts]
        if len(pooled) == 2:
            first, other = pooled
            pooled = [first, other, (first - other).abs(), first * other]
        scores = self.scores(torch.cat(pooled, dim=1))
        for linear, part in zip(self.ngrams, texts, strict=False):
            scores = scores + linear(ids, part, spelled)
        return scores / self.temperature

    def log_probs(self, *inputs: torch.Tensor | None) -> torch.Tensor:
        """Of one label among all, or of each label where a text can have several."""
        scores = self(*inputs)
        return logsigmoid(scores) if self.several else scores.log_softmax(1)

    def _pooled(
        self, ids: torch.Tensor, real: torch.Tensor, spelled: torch.Tensor | None
    ) -> torch.Tensor:
        hidden = self.hidden(ids, real, spelled)
        kinds = ("last", "max", "mean") if self.pooling == "concat" else (self.pooling,)
        return torch.cat([self._pool(kind, hidden, real) for kind in kinds], dim=1)

    def _pool(self, kind: str, hidden: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        inside = real.unsqueeze(2)
        if kind == "max":
            return hidden.masked_fill(~inside, -torch.inf).amax(1)
        if kind == "mean":
            return (hidden * inside).sum(1) / inside.sum(1)
        if kind == "attention":
            return attention_pooled(self.key, self.query, hidden, real)
        places = torch.arange(hidden.shape[1], device=hidden.device) * real
        rows = torch.arange(hidden.shape[0], device=hidden.device)
        last = hidden[rows, places.amax(1)]
        if self.directions == 1:
            return last
        half = hidden.shape[2] // 2
        return torch.cat([last[:, :half], hidden[rows, real.int().argmax(1), half:]], dim=1)


def attention_pooled(
    key: Any, query: torch.Tensor, hidden: torch.Tensor, real: torch.Tensor
) -> torch.Tensor:
    """The mean of hidden vectors (B, T, size), weighted by learned scores."""
    weights = (torch.tanh(key(hidden)) @ query).unsqueeze(2)
    return (weights.masked_fill(~real.unsqueeze(2), -torch.inf).softmax(1) * hidden).sum(1)


class Tagging(Sentences):
    """Log probabilities of the tags of every word: a softmax, or the marginals of a CRF."""

    alike: torch.Tensor | None  # (learned tags, written tags): ones where both are the same tag

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(settings)
        tags = settings["labels"]
        self.temperature = settings["temperature"]
        self.scores = nn.Linear(settings["hidden_size"], tags)
        self.linear = TagScores(settings["linear"], tags) if settings["linear"] else None
        self.crf = settings["crf"]
        if self.crf:
            self.between = nn.Parameter(torch.zeros(tags, tags))
            self.first = nn.Parameter(torch.zeros(tags))
            self.last = nn.Parameter(torch.zeros(tags))
        written = settings["written"]
        self.register_buffer("alike", torch.zeros(tags, written) if written else None)

    def forward(
        self, ids: torch.Tensor, real: torch.Tensor, characters: torch.Tensor | None = None
    ) -> torch.Tensor:
        """(B, T, K)."""
        spelled = self.spelled(characters)
        scores = self.scores(self.hidden(ids, real, spelled))
        if self.linear is not None:
            scores = scores + self.linear(ids, real, spelled)
        scores = scores / self.temperature
        found = self._marginals(scores, real) if self.crf else scores.log_softmax(2)
        if self.alike is None:
            return found
        return (found.exp() @ self.alike).clamp(min=torch.finfo(found.dtype).tiny).log()

    log_probs = forward

    def _marginals(self, scores: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        """Forward and backward sums over all taggings; padding passes them on unchanged."""
        between = self.between / self.temperature
        first, last = self.first / self.temperature, self.last / self.temperature
        begins = real & (real.cumsum(1) == 1)  # the first word of each row

        def level(sums: torch.Tensor) -> torch.Tensor:
            return sums - sums.amax(1, keepdim=True)  # of long texts, sums would lose digits

        def onward(state: Any, at: Any) -> Any:
            (sums,), (score, here, begin) = state, at
            further = (sums.unsqueeze(2) + between).logsumexp(1)
            further = torch.where(begin[:, None], first, further) + score
            sums = torch.where(here[:, None], level(further), sums)
            return (sums,), sums

        def back(state: Any, at: Any) -> Any:
            (sums,), (score, here) = state, at
            further = (between + (score + sums).unsqueeze(1)).logsumexp(2)
            return (torch.where(here[:, None], level(further), sums),), sums

        zeros = scores[:, 0] * 0
        before, _ = unroll(onward, (zeros + first,), (scores, real, begins))
        after, _ = unroll(back, (zeros + last,), (scores, real), reverse=True)
        return (before + after).log_softmax(2)
