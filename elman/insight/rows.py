"""One text in many rows, each of which counts one loss alone.

So the gradients of all losses come of one way back, row by row. Takes a subject, gives ids and
losses; called by the insights that go back from every loss.
"""

from __future__ import annotations

from typing import Any

import torch

from elman.insight.insight import Subject

_AT_ONCE = 40_000_000  # numbers that one way back may keep


def inputs_of(subject: Subject) -> torch.Tensor:
    """What is read before each token is predicted, (T,): a line end, then all but the last."""
    start = torch.tensor([subject.model.eos_id])
    return torch.cat([start, torch.from_numpy(subject.ids[:-1])])


def losses(
    model: Any, inputs: torch.Tensor, targets: torch.Tensor, rows: torch.Tensor
) -> torch.Tensor:
    """The sum over the rows, each of which counts the loss of one place of the text."""
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
