"""The places of a text at which a model was in the most similar state, by cosine.

    cosine(h_i, h_j),  h_i: the hidden vector after token i, from which the next one is predicted

The hidden vectors of one text share a large part; their mean is taken away first, or everything
would be near everything. Words with the same future are near, whatever they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from elman.errors import InputError
from elman.insight.insight import Drawing, Insight, Subject, numbers

_TOP = 3
_BEFORE = 6  # words of a context that are shown


@dataclass(frozen=True)
class NearContext:
    """A place of the text and how near it is."""

    place: int  # of the token, from 0
    context: str  # the words up to it
    cosine: float


@dataclass(frozen=True)
class NearestContexts(Insight):
    """Of every place of the text."""

    about: ClassVar[str] = "the places of the text where the model was in the most similar state"

    tokens: list[str]
    cosines: np.ndarray  # (T, T)
    contexts: list[str]
    near: list[list[NearContext]]

    @classmethod
    @torch.inference_mode()
    def look(cls, subject: Subject) -> NearestContexts:
        if len(subject.ids) < 3:
            raise InputError("a text of at least three tokens is needed to compare its places")
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
            order = [other for other in np.argsort(-row, kind="stable") if other != place][:_TOP]
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
            "title": "How alike the states are after each two words (cosine)",
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
            f"Most alike ({best.cosine:.2f}): after {self.contexts[place]!r} and after "
            f"{best.context!r}."
        ]
