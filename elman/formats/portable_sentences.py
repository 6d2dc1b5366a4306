"""Classifiers and taggers in plain torch, over the ids of words; see `portable.py`.

ids (B, T) ── word vectors ── recurrent layers or a window ── pooling ── scores of labels (B, K)
                                                          └── scores of tags (B, T, K)
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.functional import logsigmoid

from elman.formats import portable


class Sentences(nn.Module):
    """Word vectors, and layers or a window over them: a hidden vector for every word."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.vocabulary_size = settings["vocabulary_size"]
        self.input = nn.Embedding(self.vocabulary_size, settings["input_size"])
        self.width = settings["window"]
        self.window: Any = None
        self.stack: Any = None
        if self.width is None:
            self.stack = portable.Stack(settings["layers"])
        else:
            read = (2 * self.width + 1) * settings["input_size"]
            self.window = nn.Linear(read, settings["hidden_size"])

    def hidden(self, ids: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        """(B, T, size); `real` (B, T): words that are no padding."""
        vectors = self.input(ids) * real.unsqueeze(2)
        if self.stack is not None:
            hidden, _ = self.stack(vectors, self.stack.begin(ids.shape[0]), real)
            return hidden
        around = nn.functional.pad(vectors, (0, 0, self.width, self.width))
        parts = [around[:, k : k + ids.shape[1]] for k in range(2 * self.width + 1)]
        return torch.tanh(self.window(torch.cat(parts, dim=2)))


class Classifying(Sentences):
    """Scores of the labels of a text."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(settings)
        self.pooling, self.directions = settings["pooling"], settings["directions"]
        self.temperature, self.several = settings["temperature"], settings["several"]
        size = settings["hidden_size"]
        if self.pooling == "attention":
            self.key = nn.Linear(size, size)
            self.query = nn.Parameter(torch.zeros(size))
        self.scores = nn.Linear(size * (3 if self.pooling == "concat" else 1), settings["labels"])

    def forward(self, ids: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        hidden = self.hidden(ids, real)
        kinds = ("last", "max", "mean") if self.pooling == "concat" else (self.pooling,)
        pooled = torch.cat([self._pool(kind, hidden, real) for kind in kinds], dim=1)
        return self.scores(pooled) / self.temperature

    def log_probs(self, ids: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        """Of one label among all, or of each label where a text can have several."""
        scores = self(ids, real)
        return logsigmoid(scores) if self.several else scores.log_softmax(1)

    def _pool(self, kind: str, hidden: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        inside = real.unsqueeze(2)
        if kind == "max":
            return hidden.masked_fill(~inside, -torch.inf).amax(1)
        if kind == "mean":
            return (hidden * inside).sum(1) / inside.sum(1)
        if kind == "attention":
            weights = (torch.tanh(self.key(hidden)) @ self.query).unsqueeze(2)
            return (weights.masked_fill(~inside, -torch.inf).softmax(1) * hidden).sum(1)
        places = torch.arange(hidden.shape[1], device=hidden.device) * real
        rows = torch.arange(hidden.shape[0], device=hidden.device)
        last = hidden[rows, places.amax(1)]
        if self.directions == 1:
            return last
        half = hidden.shape[2] // 2
        return torch.cat([last[:, :half], hidden[rows, real.int().argmax(1), half:]], dim=1)


class Tagging(Sentences):
    """Log probabilities of the tags of every word: a softmax, or the marginals of a CRF."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(settings)
        tags = settings["labels"]
        self.temperature = settings["temperature"]
        self.scores = nn.Linear(settings["hidden_size"], tags)
        self.crf = settings["crf"]
        if self.crf:
            self.between = nn.Parameter(torch.zeros(tags, tags))
            self.first = nn.Parameter(torch.zeros(tags))
            self.last = nn.Parameter(torch.zeros(tags))

    def forward(self, ids: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        scores = self.scores(self.hidden(ids, real)) / self.temperature
        return self._marginals(scores, real) if self.crf else scores.log_softmax(2)

    log_probs = forward

    def _marginals(self, scores: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        """Forward and backward sums over all taggings; padding passes them on unchanged."""
        between = self.between / self.temperature
        first, last = self.first / self.temperature, self.last / self.temperature
        begins = real & (real.cumsum(1) == 1)  # the first word of each row

        def onward(state: Any, at: Any) -> Any:
            (sums,), (score, here, begin) = state, at
            further = (sums.unsqueeze(2) + between).logsumexp(1)
            further = torch.where(begin[:, None], first, further) + score
            sums = torch.where(here[:, None], further, sums)
            return (sums,), sums

        def back(state: Any, at: Any) -> Any:
            (sums,), (score, here) = state, at
            further = (between + (score + sums).unsqueeze(1)).logsumexp(2)
            return (torch.where(here[:, None], further, sums),), sums

        zeros = scores[:, 0] * 0
        before, _ = portable.unroll(onward, (zeros + first,), (scores, real, begins))
        after, _ = portable.unroll(back, (zeros + last,), (scores, real), reverse=True)
        return (before + after).log_softmax(2)


SENTENCE_FAMILIES = {"classifier": Classifying, "tagger": Tagging}
