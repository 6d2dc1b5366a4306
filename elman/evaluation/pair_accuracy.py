"""Whether a model prefers what it should, counted: accuracy by paradigm, exclusions, ties.

Takes a `Judgement` per item, gives a `Score` per group; made by `pairs.py` and `suites.py`. A tie
is no preference, so it is not right. Items may be excluded because of unknown words: what a model
prefers there hangs on words that it does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

DIFFERING, ANY, NEVER = "differing", "any", "never"
EXCLUSIONS = {
    DIFFERING: "items whose sentences differ in an unknown word",
    ANY: "items with any unknown word",
    NEVER: "no item",
}


@dataclass(frozen=True)
class Judgement:
    """Whether a model prefers what it should, of one pair or one prediction about an item."""

    paradigm: str
    field: str
    term: str
    right: bool
    tie: bool
    unknown: bool  # some word of it is not in the vocabulary
    excluded: bool  # for that reason, and not counted


@dataclass(frozen=True)
class Score:
    """A group of judgements."""

    name: str
    items: int  # that were counted
    right: int
    ties: int
    excluded: int  # because of unknown words
    excluded_right: int

    @property
    def accuracy(self) -> float | None:
        """The share of counted items that is right; None if none was counted."""
        return self.right / self.items if self.items else None

    @property
    def excluded_accuracy(self) -> float | None:
        """The share of excluded items that is right."""
        return self.excluded_right / self.excluded if self.excluded else None

    @property
    def excluded_share(self) -> float | None:
        """The share of all items that was excluded."""
        items = self.items + self.excluded
        return self.excluded / items if items else None

    def to_data(self) -> dict[str, object]:
        shares = {
            "accuracy": self.accuracy,
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
    """A score per group, in the order in which groups first come; "" is no group."""
    groups: dict[str, list[Judgement]] = {}
    for one in judgements:
        groups.setdefault(group(one), []).append(one)
    return [count(name, members) for name, members in groups.items() if name]


def mean_accuracy(scores: Sequence[Score]) -> float | None:
    """The mean of the accuracies, each group counting alike; groups without items do not count."""
    found = [score.accuracy for score in scores if score.accuracy is not None]
    return sum(found) / len(found) if found else None
