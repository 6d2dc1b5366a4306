"""The measures of a task, and the measures of predicted labels.

For labels: accuracy, precision, recall, F1, and confusions. Sums and counts come first, with one
division at the end. A share of zero items is 0, as in scikit-learn.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from elman.errors import InputError
from elman.notebooks import Table, Tabular

# Called with progress: the newly finished tokens, and all tokens.
Progress = Callable[[int, int], None]


BEAM = 200  # how many words a beam spells side by side


def silent(tokens: int, of: int) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class Reading:
    """How a measured text is read: whether the state is carried through it, and how the work is
    divided (`scoring.py`), which never changes a number.
    """

    reset: str = "stream"  # or "line": reset the state at every line
    batch_size: int = 1  # rows side by side
    window: int | None = None  # tokens at a time; None: chosen by the measure

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


SEEN = "the run was trained on this text; measure it on unseen text"


class TaskMeasures(Tabular):
    """Results of a task on a dataset."""

    @abstractmethod
    def to_data(self) -> dict[str, Any]:
        """Everything, as plain data."""

    @abstractmethod
    def rows(self) -> list[tuple[str, Any]]:
        """Name and value of each measure, the main one first; shares are from 0 to 1."""

    def as_table(self) -> Table:
        """Name and value of each measure, for notebooks and data frames."""
        return Table(["measure", "value"], self.rows())

    def table_caption(self) -> str:
        """The notes on how the numbers were measured."""
        return "; ".join(self.footnotes())

    def main(self) -> tuple[str, float]:
        """The main measure, which comes first."""
        name, value = self.rows()[0]
        return name, float(value)

    def scores(self) -> dict[str, Score]:
        """Precision, recall and F1 by label, or by kind of span."""
        return {}

    def mistakes(self) -> list[tuple[str, str, int]]:
        """The confusions: correct label, predicted label, count; most frequent first."""
        return []

    def tables(self) -> list[MeasureTable]:
        """Further tables."""
        return []

    def footnotes(self) -> list[str]:
        """Notes on how the numbers were measured, one line each."""
        return []

    def notes(self) -> list[str]:
        """Warnings about the numbers, one line each."""
        return []


_SHOWN = 5  # maximum number of names in a note


@dataclass(frozen=True)
class Score:
    """Precision, recall and F1 of one label, or of all labels."""

    precision: float
    recall: float
    f1: float
    count: int  # number of correct items (support)


@dataclass(frozen=True)
class LabelMeasures(TaskMeasures):
    """Measures of predicted labels."""

    accuracy: float
    macro_f1: float  # the mean over all labels that occur or are predicted
    labels: dict[str, Score]
    confusion: dict[str, dict[str, int]]  # correct label to predicted label to count
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
    """A note on items (like words) whose labels (like tags) are not in the training data, if any.

    `unseen`: the number of items by label, most frequent first.
    """
    count = sum(unseen.values())
    if not count:
        return []
    what = f"{thing} with a {name}" if count == 1 else f"{thing}s with {name}s"
    names = ", ".join([*unseen][:_SHOWN]) + ", …" * (len(unseen) > _SHOWN)
    return [f"{count:,} {what} not seen in training ({names}): always wrong"]


def measure_labels(right: Sequence[str], guessed: Sequence[str]) -> LabelMeasures:
    """Compare predicted labels with the correct ones."""
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
