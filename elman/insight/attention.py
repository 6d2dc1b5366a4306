"""Attention maps: how much each step attends to each word.

A language model attends where its output does (`Output.attention`: a pointer to recent words). A
decoder that attends to a source sentence has another text on each axis: it makes `AttentionMap`s of
its own, and they are drawn as these are. The weights of a column sum to one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from elman.errors import InputError
from elman.insight.insight import Drawing, Insight, Subject, numbers
from elman.insight.rows import inputs_of

NONE = "(none of them)"  # the sentinel: the vocabulary instead of a word read lately


@dataclass(frozen=True)
class AttentionMap:
    """A matrix with words on both axes."""

    name: str
    attended: list[str]  # one per row
    attending: list[str]  # one per column
    weights: np.ndarray  # (attended, attending); NaN where there can be none

    def to_data(self) -> dict[str, Any]:
        """Plain data."""
        return {**vars(self), "weights": numbers(self.weights)}

    def drawing(self) -> Drawing:
        """As a heat map from 0 to 1."""
        return Drawing(
            "heatMap",
            {
                "title": f"Attention: {self.name}",
                "rows": self.attended,
                "columns": self.attending,
                "values": numbers(self.weights),
                "low": 0,
                "high": 1,
                "rowLabel": "attended to",
                "columnLabel": "attending",
                "between": "←",
            },
        )


@dataclass(frozen=True)
class Attention(Insight):
    """The maps of one text."""

    about: ClassVar[str] = "what a model with attention attends to"

    maps: list[AttentionMap]

    @classmethod
    @torch.inference_mode()
    def look(cls, subject: Subject) -> Attention:
        model = subject.model
        evidence, _ = model.advance(inputs_of(subject)[None], model.begin(1))
        weights = model.output.attention(evidence)
        if weights is None:
            raise InputError("this model has no attention")
        found = _by_place(weights[0].double().numpy(force=True))
        return cls([AttentionMap("recent words", [*subject.read, NONE], subject.tokens, found)])

    def to_data(self) -> dict[str, Any]:
        return {"maps": [one.to_data() for one in self.maps]}

    def drawings(self) -> list[Drawing]:
        return [one.drawing() for one in self.maps]


def _by_place(weights: np.ndarray) -> np.ndarray:
    """From (T, L + 1), the last L words of each step and none of them, to (T + 1, T): each word
    that was read and none of them, against each step. NaN where a word was not within reach.
    """
    time, reach = weights.shape[0], weights.shape[1] - 1
    found = np.full((time + 1, time), np.nan)
    for step in range(time):
        words = min(reach, step + 1)
        found[step + 1 - words : step + 1, step] = weights[step, reach - words : reach]
        found[time, step] = weights[step, reach]
    return found
