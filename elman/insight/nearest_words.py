"""The words of the vocabulary whose vectors are nearest to those of the text, by cosine.

    cosine(a, b) = a · b / (‖a‖ ‖b‖)

Of the word vectors that the model reads, without any context.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from elman.insight.insight import Drawing, Insight, Subject
from elman.insight.rows import in_parts

_WORDS = 20  # of the text, the first different ones
_TOP = 6
_PART = 4096  # words at once


@dataclass(frozen=True)
class Near:
    """A word and how near it is."""

    word: str
    cosine: float


@dataclass(frozen=True)
class NearestWords(Insight):
    """Of each different word of the text."""

    about: ClassVar[str] = "the nearest words in the space of word vectors"

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
