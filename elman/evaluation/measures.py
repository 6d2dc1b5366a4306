"""What the measures of a task say of themselves, and how well labels were guessed.

Of labels: accuracy, precision, recall, F1, and what was taken for what. Sums and
counts first, one division at the end; a share of nothing is 0, as in scikit-learn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from elman.errors import InputError

# Told of work that is done: how many more tokens, of how many in all.
Progress = Callable[[int, int], None]


def silent(tokens: int, of: int) -> None:
    """Progress that nobody looks at."""


@dataclass(frozen=True)
class Reading:
    """How a text is read when it is measured: whether the state is carried through it; and how the
    work is cut up (`scoring.py`), which never changes a number.
    """

    reset: str = "stream"  # or "line": from the start state at every line
    batch_size: int = 1  # rows side by side
    window: int | None = None  # tokens at a time; None: as many as suit the measure

    def __post_init__(self) -> None:
        if self.reset not in ("stream", "line"):
            raise InputError(f"reset={self.reset!r}: choose 'stream' (carry the state) or 'line'")
        for name, size in (("batch_size", self.batch_size), ("window", self.window)):
            if size is not None and size < 1:
                raise InputError(f"{name}={size}: must be at least 1")


STREAM = Reading()


@dataclass(frozen=True)
class MeasureTable:
    """Further measures, like those by length."""

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]


SEEN = "this is the text that the run was trained on; measure on text it has not seen"


class TaskMeasures(ABC):
    """How well examples were answered."""

    @abstractmethod
    def to_data(self) -> dict[str, Any]:
        """Everything, as plain data."""

    @abstractmethod
    def rows(self) -> list[tuple[str, Any]]:
        """Name and value of each measure, the one that matters first; shares from 0 to 1."""

    def main(self) -> tuple[str, float]:
        """The measure that matters, which comes first."""
        name, value = self.rows()[0]
        return name, float(value)

    def scores(self) -> dict[str, Score]:
        """Precision, recall and F1 by label, or by kind of span."""
        return {}

    def mistakes(self) -> list[tuple[str, str, int]]:
        """What was taken for what, and how often: right, guessed, count; most frequent first."""
        return []

    def tables(self) -> list[MeasureTable]:
        """What is worth a table of its own."""
        return []

    def footnotes(self) -> list[str]:
        """How the figures were obtained; one line each, under them."""
        return []

    def notes(self) -> list[str]:
        """What keeps the figures from meaning what they seem to; one line each."""
        return []


_SHOWN = 5  # names in a note; more only make it longer


@dataclass(frozen=True)
class Score:
    """Of one label, or of all together."""

    precision: float
    recall: float
    f1: float
    count: int  # how many there are in truth


@dataclass(frozen=True)
class LabelMeasures(TaskMeasures):
    """Measures of guessed labels."""

    accuracy: float
    macro_f1: float  # the mean over the labels that occur in truth or guesses
    labels: dict[str, Score]
    confusion: dict[str, dict[str, int]]  # right label to guessed label to how often
    count: int

    def rows(self) -> list[tuple[str, Any]]:
        return [
            ("accuracy", self.accuracy),
            ("macro F1", self.macro_f1),
            ("examples", self.count),
        ]

    def scores(self) -> dict[str, Score]:
        return self.labels

    def mistakes(self) -> list[tuple[str, str, int]]:
        wrong = [
            (right, guess, count)
            for right, guesses in self.confusion.items()
            for guess, count in guesses.items()
            if guess != right
        ]
        return sorted(wrong, key=lambda mistake: (-mistake[2], mistake))

    def to_data(self) -> dict[str, Any]:
        return {
            "accuracy": self.accuracy,
            "macro_f1": self.macro_f1,
            "count": self.count,
            "labels": {label: vars(score) for label, score in self.labels.items()},
            "confusion": self.confusion,
        }


def unseen_notes(unseen: Mapping[str, int], thing: str, name: str) -> list[str]:
    """A note on things, like words, whose names, like tags, training never saw; if there are any.

    `unseen`: how many have which, the most frequent first.
    """
    count = sum(unseen.values())
    if not count:
        return []
    what = f"{thing} with a {name}" if count == 1 else f"{thing}s with {name}s"
    names = ", ".join([*unseen][:_SHOWN]) + ", …" * (len(unseen) > _SHOWN)
    return [f"{count:,} {what} that training never saw ({names}): always wrong"]


def measure_labels(right: Sequence[str], guessed: Sequence[str]) -> LabelMeasures:
    """Measures of as many guesses as there are right labels."""
    pairs = Counter(zip(right, guessed, strict=True))
    in_truth, in_guesses = Counter(right), Counter(guessed)
    names = sorted({*in_truth, *in_guesses})
    scores = {
        name: make_score(pairs[name, name], in_truth[name], in_guesses[name]) for name in names
    }
    hits = sum(pairs[name, name] for name in names)
    confusion: dict[str, dict[str, int]] = {name: {} for name in names}
    for (true, guess), count in sorted(pairs.items()):
        confusion[true][guess] = count
    return LabelMeasures(
        accuracy=_share(hits, len(right)),
        macro_f1=_share(sum(score.f1 for score in scores.values()), len(scores)),
        labels=scores,
        confusion=confusion,
        count=len(right),
    )


def make_score(hits: int, in_truth: int, in_guesses: int) -> Score:
    """Precision, recall and their harmonic mean."""
    return Score(
        precision=_share(hits, in_guesses),
        recall=_share(hits, in_truth),
        f1=_share(2 * hits, in_truth + in_guesses),
        count=in_truth,
    )


def _share(part: float, of: float) -> float:
    return part / of if of else 0.0
