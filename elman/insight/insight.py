"""What every insight is: something seen inside a model while it read a text.

    look       a subject (a model and a text it reads) → the insight
    to_data    plain data, as `--json`, the server and the studio have it
    drawings   what shows it: a kind of picture and its data, for `draw.js` and `figures.py` alike
    summary    sentences with the numbers that matter

An insight is a class in a file of its own and a line in `INSIGHTS` (`__init__.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

START = "<start>"  # what stands before the first token


@dataclass(frozen=True)
class Subject:
    """A model, and a text that it reads."""

    model: Any
    text: str
    ids: np.ndarray  # (T,)
    tokens: list[str]  # of the text, as they are shown: without spaces around them
    pieces: list[str]  # the text itself, cut where tokens end
    vocabulary: list[str]
    history: list[dict[str, Any]] = field(default_factory=list)  # records of the training

    @property
    def read(self) -> list[str]:
        """What was read before each token is predicted."""
        return [START, *self.tokens[:-1]]


@dataclass(frozen=True)
class Drawing:
    """A picture as data: which function of draw.js, and what it takes."""

    kind: str  # curves, panels, heatMap, bars, colouredText
    arguments: dict[str, Any]

    @property
    def title(self) -> str:
        """What stands above it."""
        return str(self.arguments["title"])

    def to_data(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": self.kind, "arguments": self.arguments}


class Insight(ABC):
    """One thing that can be seen."""

    about: ClassVar[str]

    @classmethod
    @abstractmethod
    def look(cls, subject: Subject) -> Self:
        """Look inside; an InputError says why there is nothing to see in this model."""

    @abstractmethod
    def to_data(self) -> dict[str, Any]:
        """Plain data."""

    @abstractmethod
    def drawings(self) -> list[Drawing]:
        """What shows it."""

    def summary(self) -> list[str]:
        """What there is to say in words."""
        return []


def numbers(array: np.ndarray) -> Any:
    """An array as nested lists; what is no number becomes None, since JSON has none."""
    listed = np.asarray(array, dtype=float)
    rounded = [float(f"{value:.6g}") if np.isfinite(value) else None for value in listed.flat]
    shaped = np.empty(listed.size, dtype=object)
    shaped[:] = rounded
    return shaped.reshape(listed.shape).tolist()
