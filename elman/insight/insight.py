"""The base class of insights: an observation of a model while it reads a text.

    look       a subject (a model and a text it reads) → the insight
    to_data    plain data, for `--json`, the server and the studio
    drawings   pictures as data, for both `draw.js` and `figures/`
    summary    sentences with the main numbers

An insight is a class and a line in `INSIGHTS` (`__init__.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import torch

START = "<start>"  # shown before the first token


@dataclass(frozen=True)
class Subject:
    """A model and a text that it reads."""

    model: Any
    text: str
    ids: np.ndarray  # (T,)
    tokens: list[str]  # of the text, as displayed: without surrounding spaces
    pieces: list[str]  # the text, split at token ends
    vocabulary: list[str]
    history: list[dict[str, Any]] = field(default_factory=list)  # records of the training

    @property
    def read(self) -> list[str]:
        """The token read before each predicted token."""
        return [START, *self.tokens[:-1]]


@dataclass(frozen=True)
class Drawing:
    """A picture as data: a function of draw.js and its arguments."""

    kind: str  # curves, panels, heatMap, bars, colouredText
    arguments: dict[str, Any]

    @property
    def title(self) -> str:
        """The title."""
        return str(self.arguments["title"])

    def to_data(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": self.kind, "arguments": self.arguments}


class Insight(ABC):
    """An insight into a model."""

    about: ClassVar[str]

    @classmethod
    @abstractmethod
    def look(cls, subject: Subject) -> Self:
        """Inspect the model; raise an InputError if this model does not support the insight."""

    @abstractmethod
    def to_data(self) -> dict[str, Any]:
        """Plain data."""

    @abstractmethod
    def drawings(self) -> list[Drawing]:
        """The pictures."""

    def summary(self) -> list[str]:
        """The main results as sentences."""
        return []


def numbers(array: np.ndarray) -> Any:
    """An array as nested lists; NaN and infinity become None, because JSON has neither."""
    listed = np.asarray(array, dtype=float)
    rounded = [float(f"{value:.6g}") if np.isfinite(value) else None for value in listed.flat]
    shaped = np.empty(listed.size, dtype=object)
    shaped[:] = rounded
    return shaped.reshape(listed.shape).tolist()


_AT_ONCE = 40_000_000  # maximum numbers stored for one backward pass


def inputs_of(subject: Subject) -> torch.Tensor:
    """The id read before each prediction, (T,): a line end, then all ids except the last."""
    start = torch.tensor([subject.model.eos_id])
    return torch.cat([start, torch.from_numpy(subject.ids[:-1])])


def losses(
    model: Any, inputs: torch.Tensor, targets: torch.Tensor, rows: torch.Tensor
) -> torch.Tensor:
    """The sum over rows, where each row counts the loss of one position of the text.

    So one backward pass gives the gradients of all losses, row by row.
    """
    text = inputs.expand(len(rows), -1)
    evidence, _ = model.advance(text, model.begin(len(rows)))
    own = torch.arange(len(rows))
    before = tuple(part[own, rows].unsqueeze(1) for part in evidence)
    scores: torch.Tensor = model.score_from(before, targets[rows].unsqueeze(1))
    return -scores.sum()


def parts_of_rows(subject: Subject) -> list[torch.Tensor]:
    """The positions of the text, in parts that fit into memory."""
    time = len(subject.ids)
    kept = sum(parameter.shape[0] for parameter in subject.model.parameters())
    return in_parts(torch.arange(time), max(1, min(time, _AT_ONCE // (time * kept))))


def in_parts(values: torch.Tensor, size: int) -> list[torch.Tensor]:
    """The same, in parts of this size."""
    return [values[first : first + size] for first in range(0, len(values), size)]
