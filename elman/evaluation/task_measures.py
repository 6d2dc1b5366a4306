"""What the measures of a task say of themselves, for people and for machines.

Whatever a task's `evaluate` gives is of this kind; `elman evaluate` prints it without knowing the
task. Only `to_data` and `rows` must be said; the rest is there where it makes sense.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elman.evaluation.labels import Score


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
