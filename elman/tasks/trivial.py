"""Compare a training with an answer that needs no model, and say so if the model is no better.

    labels       the most frequent label
    tags         the most frequent tag of each word; for spans, no span at all
    tokens       their frequencies in the training text, each counted once more

Each task gives its trivial answer (`GradientTask.trivial`); the training run compares the best
validation with it, and stores both in the facts of the run.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from elman.training.history import criterion

_MOST = 0.9  # share of one label in skewed data
_SKEWED = (
    "nearly all examples have this label, so judge by macro F1, and try --set "
    "training.class_weights=balanced"
)


@dataclass(frozen=True)
class Trivial:
    """A trivial answer: what it does, and its validation result (an error or a perplexity)."""

    what: str  # like "always predicts 'positive'"
    value: float
    advice: str = "it needs more examples or a longer training"


def most_frequent_label(train: Iterable[str], valid: Sequence[str]) -> Trivial | None:
    """Always the most frequent label."""
    counts = Counter(train)
    if not counts or not valid:
        return None
    label = counts.most_common(1)[0][0]
    wrong = sum(one != label for one in valid)
    trivial = Trivial(f"always predicts {label!r}", wrong / len(valid))
    return replace(trivial, advice=_SKEWED) if counts[label] > _MOST * counts.total() else trivial


def most_frequent_tags(
    train: Iterable[tuple[str, str]], valid: Sequence[tuple[str, str]]
) -> Trivial | None:
    """The most frequent tag of each word, or of all words if the word is unknown."""
    pairs = Counter(train)
    if not pairs or not valid:
        return None
    every: Counter[str] = Counter()
    best: dict[str, tuple[int, str]] = {}
    for (word, tag), count in pairs.items():
        every[tag] += count
        best[word] = max(best.get(word, (0, "")), (count, tag))
    unknown = (0, every.most_common(1)[0][0])
    wrong = sum(best.get(word, unknown)[1] != tag for word, tag in valid)
    return Trivial("gives each word its most frequent tag", wrong / len(valid))


def token_frequencies(train: np.ndarray, valid: np.ndarray) -> Trivial | None:
    """Every token by its frequency, whatever precedes it; takes the counts of all ids."""
    if not valid.sum():
        return None
    probabilities = (train + 1) / (train.sum() + len(train))
    nats = -float(valid @ np.log(probabilities)) / float(valid.sum())
    return Trivial("only knows how frequent each token is", math.exp(nats))


def comparison(trivial: Trivial, validation: dict[str, Any] | None) -> dict[str, Any]:
    """Facts: the trivial answer, its result, and whether the model is no better; {} if unknown."""
    for judged_by, value in (validation or {}).items():
        if judged_by != "tokens" and value is not None:
            useless = value >= trivial.value > 0  # nothing is better than no error
            found = {"what": trivial.what, judged_by: trivial.value, "useless": useless}
            return {**found, "advice": trivial.advice} if useless else found
    return {}


def useless_line(facts: dict[str, Any]) -> str | None:
    """A warning if the model of a run is no better than the trivial answer."""
    found, validation = facts.get("trivial"), facts.get("validation")
    if not found or not found["useless"] or not validation:
        return None
    judged_by = next(name for name in validation if name != "tokens")
    name, own = criterion(judged_by, validation[judged_by])
    _, other = criterion(judged_by, found[judged_by])
    return (
        f"this model is no better than a trivial baseline: its validation {name} is {own:.4g}; a "
        f"program that {found['what']} has {other:.4g}; {found['advice']}"
    )
