"""The attention of each step to each earlier word.

A language model has attention if its output has (`Output.attention`: a pointer to recent words).
Each column sums to one. Maps of source and target are in `evaluation/attention_map.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from elman.errors import InputError
from elman.insight.insight import Drawing, Insight, Subject, inputs_of, numbers

_NAME = "recent words"
NONE = "(none of them)"  # the sentinel: the vocabulary instead of a recent word


@dataclass(frozen=True)
class Attention(Insight):
    """A matrix with words on both axes."""

    about: ClassVar[str] = "the attention weights of a model with attention"

    attended: list[str]  # one per row
    attending: list[str]  # one per column
    weights: np.ndarray  # (attended, attending); NaN where attention is impossible

    @classmethod
    @torch.inference_mode()
    def look(cls, subject: Subject) -> Attention:
        model = subject.model
        evidence, _ = model.advance(inputs_of(subject)[None], model.begin(1))
        weights = model.output.attention(evidence)
        if weights is None:
            raise InputError("this model has no attention")
        found = _by_place(weights[0].double().numpy(force=True))
        return cls([*subject.read, NONE], subject.tokens, found)

    def to_data(self) -> dict[str, Any]:
        return {"maps": [{"name": _NAME, **vars(self), "weights": numbers(self.weights)}]}

    def drawings(self) -> list[Drawing]:
        heat_map = {
            "title": f"Attention: {_NAME}",
            "rows": self.attended,
            "columns": self.attending,
            "values": numbers(self.weights),
            "low": 0,
            "high": 1,
            "rowLabel": "attended to",
            "columnLabel": "attending",
            "between": "←",
        }
        return [Drawing("heatMap", heat_map)]


def _by_place(weights: np.ndarray) -> np.ndarray:
    """Turn (T, L + 1), the last L words of each step and the sentinel, into (T + 1, T): all words
    and the sentinel by step. NaN where a word is out of reach.
    """
    time, reach = weights.shape[0], weights.shape[1] - 1
    found = np.full((time + 1, time), np.nan)
    for step in range(time):
        words = min(reach, step + 1)
        found[step + 1 - words : step + 1, step] = weights[step, reach - words : reach]
        found[time, step] = weights[step, reach]
    return found
