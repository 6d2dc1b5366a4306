"""Nearest neighbours by cosine: words of the vocabulary, and positions of a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from elman.errors import InputError
from elman.insight.insight import Drawing, Insight, Subject, in_parts, numbers

_WORDS = 20  # the first distinct words of the text
_TOP = 6
_PART = 4096  # words at once


@dataclass(frozen=True)
class Near:
    """A word and its cosine."""

    word: str
    cosine: float


@dataclass(frozen=True)
class NearestWords(Insight):
    """The words of the vocabulary whose vectors are nearest to those of the text, by cosine.

        cosine(a, b) = a · b / (‖a‖ ‖b‖)

    Uses the input word vectors of the model, without context.
    """

    about: ClassVar[str] = "the nearest words by cosine of word vectors"

    words: list[str]
    near: list[list[Near]]

    @classmethod
    @torch.inference_mode()
    def look(cls, subject: Subject) -> NearestWords:
        table = word_vectors(subject.model)  # (V, size), of length 1
        ids = [*dict.fromkeys(subject.ids.tolist())][:_WORDS]
        top = min(_TOP + 1, len(table))
        cosines, places = (table[ids] @ table.t()).topk(top, dim=1)
        near = []
        for own, values, others in zip(ids, cosines.tolist(), places.tolist(), strict=True):
            pairs = [(o, v) for o, v in zip(others, values, strict=True) if o != own][:_TOP]
            near.append([Near(subject.vocabulary[other], value) for other, value in pairs])
        return cls([subject.vocabulary[number] for number in ids], near)

    def to_data(self) -> dict[str, Any]:
        return {
            "words": [
                {"word": word, "near": [vars(one) for one in near]}
                for word, near in zip(self.words, self.near, strict=True)
            ]
        }

    def drawings(self) -> list[Drawing]:
        shown = [(word, near) for word, near in zip(self.words, self.near, strict=True) if near][
            :12
        ]
        return [
            Drawing(
                "bars",
                {
                    "title": f"Nearest to {word.strip() or word}",
                    "names": [one.word for one in near],
                    "series": [{"name": "cosine", "values": [one.cosine for one in near]}],
                    "max": 1,
                },
            )
            for word, near in shown
        ]


def word_vectors(model: Any) -> torch.Tensor:
    """The vector of every word of the vocabulary, (V, size), each of length 1."""
    ids = torch.arange(model.vocabulary_size)
    parts = [model.input(part[None])[0] for part in in_parts(ids, _PART)]
    return torch.nn.functional.normalize(torch.cat(parts).double(), dim=1)


_PLACES = 3
_BEFORE = 6  # displayed words per context


@dataclass(frozen=True)
class NearContext:
    """A position of the text and its cosine."""

    place: int  # of the token, from 0
    context: str  # the words up to it
    cosine: float


@dataclass(frozen=True)
class NearestContexts(Insight):
    """The positions of a text with the most similar hidden states, by cosine.

        cosine(h_i, h_j),  h_i: the hidden vector after token i, which predicts the next token

    The hidden vectors of a text share a large mean, which is subtracted first; otherwise all
    positions would be similar. Contexts with similar continuations are near, even if the words
    differ.
    """

    about: ClassVar[str] = "the positions of the text with the most similar hidden states"

    tokens: list[str]
    cosines: np.ndarray  # (T, T)
    contexts: list[str]
    near: list[list[NearContext]]

    @classmethod
    @torch.inference_mode()
    def look(cls, subject: Subject) -> NearestContexts:
        if len(subject.ids) < 3:
            raise InputError(
                "the text is too short: comparing positions needs at least three tokens"
            )
        model = subject.model
        evidence, _ = model.advance(torch.from_numpy(subject.ids)[None], model.start(1)[1])
        vectors = evidence[0][0].flatten(1).double().numpy(force=True)  # (T, size)
        vectors = vectors - vectors.mean(0)
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        cosines = vectors @ vectors.T
        contexts = [
            "".join(subject.pieces[max(0, place + 1 - _BEFORE) : place + 1]).strip()
            for place in range(len(vectors))
        ]
        near = []
        for place, row in enumerate(cosines):
            order = [other for other in np.argsort(-row, kind="stable") if other != place][:_PLACES]
            near.append([NearContext(int(o), contexts[o], float(row[o])) for o in order])
        return cls(subject.tokens, cosines, contexts, near)

    def to_data(self) -> dict[str, Any]:
        return {
            "tokens": self.tokens,
            "cosines": numbers(self.cosines),
            "near": [
                {"context": context, "near": [vars(one) for one in near]}
                for context, near in zip(self.contexts, self.near, strict=True)
            ],
        }

    def drawings(self) -> list[Drawing]:
        heat = {
            "title": "Similarity of the hidden states after each pair of words (cosine)",
            "rows": self.tokens,
            "columns": self.tokens,
            "values": numbers(self.cosines),
            "scale": "diverging",
            "low": -1,
            "high": 1,
            "rowLabel": "after",
            "columnLabel": "after",
            "between": "and",
        }
        return [Drawing("heatMap", heat)]

    def summary(self) -> list[str]:
        pairs = [(near[0].cosine, place) for place, near in enumerate(self.near)]
        _, place = max(pairs)
        best = self.near[place][0]
        return [
            f"Most similar states ({best.cosine:.2f}): after {self.contexts[place]!r} and after "
            f"{best.context!r}."
        ]
