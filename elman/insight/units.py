"""Gates, cells and hidden units over a text: the most active units, and saturation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from elman.insight.insight import Drawing, Insight, Subject, numbers
from elman.insight.recording import activations, is_gate

SHOWN = 24  # units of a kind


@dataclass(frozen=True)
class Units(Insight):
    """Gates, cells and hidden units over the text: the most active units, and the mean of each
    gate.

    A row is a unit, a column is a token; the value is that of the unit after the token.
    """

    about: ClassVar[str] = "gates, cells and hidden units over the text"

    tokens: list[str]
    sizes: dict[str, int]  # how many units of a kind there are
    numbers: dict[str, list[int]]  # which of them are shown, from 1
    values: dict[str, np.ndarray]  # (shown, T)
    means: dict[str, np.ndarray]  # mean over all units of a gate, (T,)

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
        of = f"{len(self.numbers[name])} of {self.sizes[name]} units, the most active ones"
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


_LOW, _HIGH = 0.1, 0.9


@dataclass(frozen=True)
class Saturated:
    """Saturation of one kind of value, over all units and tokens."""

    name: str
    gate: bool
    low: float  # share of values below 0.1, or below −0.9 for units
    high: float  # share above 0.9
    always_low: int  # units saturated at more than nine tenths of all tokens
    always_high: int
    units: int


@dataclass(frozen=True)
class Saturation(Insight):
    """Saturation: how often gates are open or shut, and units at their bounds (Karpathy et al.
    2015).

        a gate is shut below 0.1 and open above 0.9;  a unit within ±1 is at its bounds beyond ±0.9

    Almost no gradient passes through a saturated gate. An open forget gate keeps its cell, a shut
    one clears it.
    """

    about: ClassVar[str] = "how often gates are open or shut, and units saturated"

    kinds: list[Saturated]

    @classmethod
    def look(cls, subject: Subject) -> Saturation:
        found = activations(subject)
        kinds = [
            _saturated(name, values, is_gate(name, values))
            for name, values in found.items()
            if is_gate(name, values) or np.abs(values).max() <= 1
        ]
        return cls(kinds)

    def to_data(self) -> dict[str, Any]:
        return {"kinds": [vars(kind) for kind in self.kinds]}

    def drawings(self) -> list[Drawing]:
        if not self.kinds:
            return []
        bars = {
            "title": "Saturation: share of all values at their lower and upper bound",
            "names": [kind.name.removeprefix("layer ") for kind in self.kinds],
            "series": [
                {"name": "shut (gates < 0.1, units < −0.9)", "values": [k.low for k in self.kinds]},
                {"name": "open (gates and units > 0.9)", "values": [k.high for k in self.kinds]},
            ],
            "max": 1,
        }
        return [Drawing("bars", bars)]

    def summary(self) -> list[str]:
        return [
            f"{kind.name}: {100 * kind.low:.0f} % of the time shut, {100 * kind.high:.0f} % open; "
            f"{kind.always_low} of {kind.units} units are nearly always shut, {kind.always_high} "
            "nearly always open."
            for kind in self.kinds
            if kind.gate
        ]


def _saturated(name: str, values: np.ndarray, gate: bool) -> Saturated:
    low = values < (_LOW if gate else -_HIGH)
    high = values > _HIGH
    return Saturated(
        name,
        gate,
        float(low.mean()),
        float(high.mean()),
        int((low.mean(0) > _HIGH).sum()),
        int((high.mean(0) > _HIGH).sum()),
        values.shape[1],
    )
