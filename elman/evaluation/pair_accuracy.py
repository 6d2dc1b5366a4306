"""Accuracy on minimal pairs and suites: by paradigm, with exclusions and ties.

Takes a `Judgement` per item (from `pairs.py` and `suites.py`), gives a `Score` per group. A tie is
not a preference, so it counts as wrong. Items may be excluded because of unknown words, where the
preference of the model depends on words that it does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from elman.evaluation.proportions import NORMAL, wilson_interval

DIFFERING, ANY, NEVER = "differing", "any", "never"
EXCLUSIONS = {
    DIFFERING: "items whose sentences differ in an unknown word",
    ANY: "items with any unknown word",
    NEVER: "no item",
}


@dataclass(frozen=True)
class Judgement:
    """Whether a model is right about one pair, or about one prediction of an item."""

    paradigm: str
    field: str
    term: str
    right: bool
    tie: bool
    unknown: bool  # it has an out-of-vocabulary word
    excluded: bool  # because of unknown words, and not counted
    attractors: int | None = None  # of pairs about agreement, if known


@dataclass(frozen=True)
class Score:
    """A group of judgements."""

    name: str
    items: int  # counted items
    right: int
    ties: int
    excluded: int  # because of unknown words
    excluded_right: int

    @property
    def accuracy(self) -> float | None:
        """The share of counted items that are right; None without counted items."""
        return self.right / self.items if self.items else None

    @property
    def excluded_accuracy(self) -> float | None:
        """The share of excluded items that are right."""
        return self.excluded_right / self.excluded if self.excluded else None

    @property
    def excluded_share(self) -> float | None:
        """The share of all items that are excluded."""
        items = self.items + self.excluded
        return self.excluded / items if items else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the accuracy (Wilson); None without counted items."""
        return wilson_interval(self.right, self.items)

    def to_data(self) -> dict[str, object]:
        low, high = self.interval or (None, None)
        shares = {
            "accuracy": self.accuracy,
            "low": low,
            "high": high,
            "excluded_accuracy": self.excluded_accuracy,
            "excluded_share": self.excluded_share,
        }
        return {**vars(self), **shares}


def count(name: str, judgements: Iterable[Judgement]) -> Score:
    """The score of some judgements."""
    given = list(judgements)
    counted = [one for one in given if not one.excluded]
    others = [one for one in given if one.excluded]
    return Score(
        name,
        len(counted),
        sum(one.right for one in counted),
        sum(one.tie for one in counted),
        len(others),
        sum(one.right for one in others),
    )


def count_by(judgements: Iterable[Judgement], group: Callable[[Judgement], str]) -> list[Score]:
    """A score per group, in the order of first occurrence; "" means no group."""
    groups: dict[str, list[Judgement]] = {}
    for one in judgements:
        groups.setdefault(group(one), []).append(one)
    return [count(name, members) for name, members in groups.items() if name]


def mean_accuracy(scores: Sequence[Score]) -> float | None:
    """The unweighted mean of the accuracies of all groups with counted items."""
    found = [score.accuracy for score in scores if score.accuracy is not None]
    return sum(found) / len(found) if found else None


def mean_interval(scores: Sequence[Score]) -> tuple[float, float] | None:
    """The 95 % interval of that mean: the groups are given, the items of each are a sample."""
    found = [(score.accuracy, score.items) for score in scores if score.accuracy is not None]
    if not found:
        return None
    mean = sum(share for share, _ in found) / len(found)
    variance = sum(share * (1 - share) / items for share, items in found) / len(found) ** 2
    half = NORMAL * variance**0.5
    return max(0.0, mean - half), min(1.0, mean + half)
