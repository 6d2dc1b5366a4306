"""Attention maps: how much each position attends to each other one.

A model that attends says so with a method

    attention_maps(ids) -> list of (name, read, predicted, weights (rows, columns))

of its own, where rows are what is attended to and columns where it happens; the weights of a column
sum to at most one. A decoder that attends to a source sentence has another text on each axis; it
makes its `AttentionMap`s itself and they are drawn as these are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from elman.errors import InputError
from elman.insight.insight import Drawing, Insight, Subject, numbers


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
        attend = getattr(subject.model, "attention_maps", None)
        found = [] if attend is None else attend(torch.from_numpy(subject.ids)[None])
        if not found:
            raise InputError("this model has no attention")
        return cls([AttentionMap(name, subject.read, subject.tokens, w) for name, w in found])

    def to_data(self) -> dict[str, Any]:
        return {"maps": [one.to_data() for one in self.maps]}

    def drawings(self) -> list[Drawing]:
        return [one.drawing() for one in self.maps]
