"""Weights of examples in training: of each example, and of its label.

    loss of a batch = Σ w_i · -log p(label_i | text_i) / B      w_i = example weight · class weight

Only the ratios of weights matter: they are divided by their mean over the data, so the learning
rate keeps its meaning. A weight of 2 counts like the example given twice.

Takes examples and settings, returns an array; called by the task and by the readers of weights.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from elman.errors import InputError, nearest


class Weighted(Protocol):
    """An example with a label and a weight."""

    @property
    def label(self) -> str: ...
    @property
    def weight(self) -> float: ...


def read_weight(value: Any, where: str) -> float:
    """A weight from a table or a list; refused if it is negative, or not a number."""
    try:
        if value is None or isinstance(value, bool):
            raise ValueError
        weight = float(value)
    except (TypeError, ValueError):
        raise InputError(
            f"{where}: the weight {value!r} is not a number; give every text one"
        ) from None
    if not 0 <= weight < math.inf:
        raise InputError(f"{where}: the weight {weight:g} must be a number from 0")
    return weight


def balanced_weights(examples: Iterable[Weighted]) -> dict[str, float]:
    """For each label, all examples / (labels · examples with the label), as in scikit-learn.

    An example counts by its weight.
    """
    totals: dict[str, float] = defaultdict(float)
    for example in examples:
        totals[example.label] += example.weight
    every = sum(totals.values())
    return {label: every / (len(totals) * totals[label]) for label in sorted(totals)}


def named_weights(setting: dict[str, float], labels: Sequence[str]) -> dict[str, float]:
    """The weight of every label, 1 where the setting names none; unknown labels are refused."""
    for label in setting:
        if label not in labels:
            raise InputError(
                f"training.class_weights: no training text has the label {label!r}; "
                f"{nearest(label, labels)}"
            )
    return {label: setting.get(label, 1.0) for label in labels} if setting else {}


def example_weights(examples: Sequence[Weighted], classes: dict[str, float]) -> np.ndarray | None:
    """The weight of each example, 1 on average; None if all are alike."""
    weights = np.array([e.weight * classes.get(e.label, 1.0) for e in examples])
    if not len(weights) or (weights == weights[0]).all():
        return None
    return weights / weights.mean()
