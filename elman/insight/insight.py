"""What every insight is: something seen inside a model while it read a text.

    look       a subject (a model and a text it reads) → the insight
    to_data    plain data, as `--json`, the server and the studio have it
    drawings   what shows it: a kind of picture and its data, for `draw.js` and `figures/` alike
    summary    sentences with the numbers that matter

An insight is a class and a line in `INSIGHTS` (`__init__.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import torch

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


_AT_ONCE = 40_000_000  # numbers that one way back may keep


def inputs_of(subject: Subject) -> torch.Tensor:
    """What is read before each token is predicted, (T,): a line end, then all but the last."""
    start = torch.tensor([subject.model.eos_id])
    return torch.cat([start, torch.from_numpy(subject.ids[:-1])])


def losses(
    model: Any, inputs: torch.Tensor, targets: torch.Tensor, rows: torch.Tensor
) -> torch.Tensor:
    """The sum over the rows, each of which counts the loss of one place of the text.

    So the gradients of all losses come of one way back, row by row.
    """
    text = inputs.expand(len(rows), -1)
    evidence, _ = model.advance(text, model.begin(len(rows)))
    own = torch.arange(len(rows))
    before = tuple(part[own, rows].unsqueeze(1) for part in evidence)
    scores: torch.Tensor = model.score_from(before, targets[rows].unsqueeze(1))
    return -scores.sum()


def parts_of_rows(subject: Subject) -> list[torch.Tensor]:
    """The places of the text, in parts that fit into memory."""
    time = len(subject.ids)
    kept = sum(parameter.shape[0] for parameter in subject.model.parameters())
    return in_parts(torch.arange(time), max(1, min(time, _AT_ONCE // (time * kept))))


def in_parts(values: torch.Tensor, size: int) -> list[torch.Tensor]:
    """The same, so many at a time."""
    return [values[first : first + size] for first in range(0, len(values), size)]
