"""How often gates are wide open or shut, and units at their bounds (Karpathy et al. 2015).

    a gate is shut below 0.1 and open above 0.9;  a unit within ±1 is at its bounds beyond ±0.9

Where a gate is saturated hardly any gradient passes through it; a forget gate that is open keeps
its cell, one that is shut clears it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from elman.insight.activations import activations, is_gate
from elman.insight.insight import Drawing, Insight, Subject

_LOW, _HIGH = 0.1, 0.9


@dataclass(frozen=True)
class Saturated:
    """Of one kind of value, over all units and tokens."""

    name: str
    gate: bool
    low: float  # share of values below 0.1, of a unit below −0.9
    high: float  # share above 0.9
    always_low: int  # units that are there at more than nine tenths of all tokens
    always_high: int
    units: int


@dataclass(frozen=True)
class Saturation(Insight):
    """All gates and bounded units."""

    about: ClassVar[str] = "how often gates are open or shut, and units at their bounds"

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
            f"of {kind.units} units {kind.always_low} are nearly always shut, {kind.always_high} "
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
