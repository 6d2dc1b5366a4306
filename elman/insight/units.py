"""Gates, cells and hidden units over the text: those that move most, and the mean of every gate.

A row is a unit, a column a token; the value is what the unit has after the token was read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from elman.insight.activations import activations, is_gate
from elman.insight.insight import Drawing, Insight, Subject, numbers

SHOWN = 24  # units of a kind


@dataclass(frozen=True)
class Units(Insight):
    """Values by layer and kind; only the units that move most."""

    about: ClassVar[str] = "gates, cells and hidden units over the text"

    tokens: list[str]
    sizes: dict[str, int]  # how many units of a kind there are
    numbers: dict[str, list[int]]  # which of them are shown, from 1
    values: dict[str, np.ndarray]  # (shown, T)
    means: dict[str, np.ndarray]  # of all units of a gate, (T,)

    @classmethod
    def look(cls, subject: Subject) -> Units:
        found = activations(subject)
        chosen = {
            name: np.argsort(-values.std(0), kind="stable")[:SHOWN]
            for name, values in found.items()
        }
        return cls(
            subject.tokens,
            {name: values.shape[1] for name, values in found.items()},
            {name: (places + 1).tolist() for name, places in chosen.items()},
            {name: values[:, chosen[name]].T for name, values in found.items()},
            {name: values.mean(1) for name, values in found.items() if is_gate(name, values)},
        )

    def to_data(self) -> dict[str, Any]:
        return {
            "tokens": self.tokens,
            "kinds": {
                name: {
                    "units": self.sizes[name],
                    "shown": self.numbers[name],
                    "values": numbers(values),
                    "mean": numbers(self.means[name]) if name in self.means else None,
                }
                for name, values in self.values.items()
            },
        }

    def drawings(self) -> list[Drawing]:
        drawn = []
        if self.means:
            series = [{"name": name, "y": numbers(mean)} for name, mean in self.means.items()]
            curves = {
                "title": "How open the gates are: mean over all units",
                "series": series,
                "xNames": self.tokens,
                "yLabel": "0 closed, 1 open",
            }
            drawn.append(Drawing("curves", curves))
        return drawn + [self._map(name) for name in self.values if not name.endswith("candidate")]

    def _map(self, name: str) -> Drawing:
        gate = name in self.means
        of = f"{len(self.numbers[name])} of {self.sizes[name]} units, those that move most"
        scale = {"scale": "linear", "low": 0, "high": 1} if gate else {"scale": "diverging"}
        return Drawing(
            "heatMap",
            {
                "title": f"{name[0].upper()}{name[1:]}: {of}",
                "rows": [str(number) for number in self.numbers[name]],
                "columns": self.tokens,
                "values": numbers(self.values[name]),
                "rowLabel": "unit",
                "columnLabel": "after",
                "between": "after",
                "cell": 12,
                **scale,
            },
        )
