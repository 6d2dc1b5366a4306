"""What a model prefers, right or wrong, counted: accuracy by paradigm, unknown words apart.

Takes a `Judgement` per item, gives a `Score` per group of them; made by `pairs.py` and `suites.py`.
A tie is no preference, so it is not right; how many there are is said. Items with unknown words are
counted by themselves: what a model prefers there hangs on words that it does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Judgement:
    """Whether a model prefers what it should, of one pair or one prediction about an item."""

    paradigm: str
    field: str
    term: str
    right: bool
    tie: bool
    unknown: bool  # some word of it is not in the vocabulary


@dataclass(frozen=True)
class Score:
    """A group of judgements."""

    name: str
    items: int  # all of whose words are known
    right: int
    ties: int
    unknown_items: int  # the others
    unknown_right: int

    @property
    def accuracy(self) -> float | None:
        """The share that is right, where all words are known; None where there is nothing."""
        return self.right / self.items if self.items else None

    @property
    def unknown_accuracy(self) -> float | None:
        """The same where some are not."""
        return self.unknown_right / self.unknown_items if self.unknown_items else None

    def to_data(self) -> dict[str, object]:
        """Plain data."""
        shares = {"accuracy": self.accuracy, "unknown_accuracy": self.unknown_accuracy}
        return {**vars(self), **shares}


def count(name: str, judgements: Iterable[Judgement]) -> Score:
    """The score of some judgements."""
    given = list(judgements)
    known = [one for one in given if not one.unknown]
    others = [one for one in given if one.unknown]
    return Score(
        name,
        len(known),
        sum(one.right for one in known),
        sum(one.tie for one in known),
        len(others),
        sum(one.right for one in others),
    )


def count_by(judgements: Iterable[Judgement], group: Callable[[Judgement], str]) -> list[Score]:
    """A score per group, in the order in which groups first come; "" is no group."""
    groups: dict[str, list[Judgement]] = {}
    for one in judgements:
        groups.setdefault(group(one), []).append(one)
    return [count(name, members) for name, members in groups.items() if name]
