"""Gradient norms and clipping over a training, from the records of its history.

    clipped: g ← g · min(1, clip / ‖g‖)        the share of steps with clipping

Takes the records as plain data; reads no files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from elman.errors import InputError
from elman.insight.insight import Drawing, Insight, Subject, numbers

_NEEDED = ("epoch", "gradient_norm", "largest_gradient_norm", "clipped")


@dataclass(frozen=True)
class TrainingRecord(Insight):
    """Values by epoch; a record covers the steps since the previous record."""

    about: ClassVar[str] = "gradient norms and clipping over the training"

    epochs: list[float]
    norms: list[float]  # mean over the steps of a record, before clipping
    largest: list[float]
    clipped: list[float]  # share of the steps
    rates: list[float]
    divergences: list[dict[str, Any]]  # skipped steps and the reason

    @classmethod
    def look(cls, subject: Subject) -> TrainingRecord:
        records = [r for r in subject.history if all(name in r for name in _NEEDED)]
        if not records:
            raise InputError("the run has no history of gradient norms")
        return cls(
            [record["epoch"] for record in records],
            [record["gradient_norm"] for record in records],
            [record["largest_gradient_norm"] for record in records],
            [record["clipped"] for record in records],
            [record.get("learning_rate", 0.0) for record in records],
            [record for record in subject.history if "diverged_at_step" in record],
        )

    def to_data(self) -> dict[str, Any]:
        return dict(vars(self))

    def drawings(self) -> list[Drawing]:
        def series(name: str, values: list[float]) -> dict[str, Any]:
            return {"name": name, "x": self.epochs, "y": numbers(np.array(values))}

        marks = [
            {"x": record["epoch"], "name": "diverged"}
            for record in self.divergences
            if "epoch" in record
        ]
        norms = {
            "title": "Norm of the gradient over the training, before clipping",
            "series": [series("mean", self.norms), series("largest", self.largest)],
            "xLabel": "epochs",
            "yLabel": "norm",
            "logY": True,
            "marks": marks,
        }
        clipped = {
            "title": "Share of the steps whose gradient was clipped",
            "series": [series("clipped", self.clipped)],
            "xLabel": "epochs",
            "yLabel": "share",
            "zero": True,
        }
        return [Drawing("curves", norms), Drawing("curves", clipped)]

    def summary(self) -> list[str]:
        mean = sum(self.clipped) / len(self.clipped)
        return [
            f"The gradient was clipped in {100 * mean:.0f} % of the steps (mean over the records); "
            f"its largest norm was {max(self.largest):.3g}; {len(self.divergences)} divergences."
        ]
