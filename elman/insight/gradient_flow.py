"""Gradient flow: the norm of ∂loss_t/∂state_i for all pairs of steps.

    loss_t = −log p(x_{t+1} | state_t),    state_t = f(x_t, state_{t-1})
    flow[i][t] = ‖∂loss_t/∂state_i‖₂,      i ≤ t;  t − i is the distance

A state is everything the recurrence carries: h, or h and c of an LSTM, for all layers together and
for each tensor alone. In a network that forgets, the norm falls with the distance like a product of
Jacobians (Pascanu et al. 2013); where it is zero, nothing can be learned. One backward pass gives
all pairs: the text is read in as many rows as it has tokens, and the loss of row t is loss_t alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from elman.insight.insight import (
    Drawing,
    Insight,
    Subject,
    inputs_of,
    losses,
    numbers,
    parts_of_rows,
)
from elman.insight.recording import Watched, watch

WHOLE = "state"  # all tensors of all layers together
_DEEPEST = 1e-8  # of the largest norm; smaller norms share one colour
_LEAST = 1e-30  # smaller norms are drawn as this one, or they would take most of the colour scale


@dataclass(frozen=True)
class GradientFlow(Insight):
    """Norms by state and loss; row i: the state after token i was read, column t: loss_t."""

    about: ClassVar[str] = "how the gradient of each loss vanishes over earlier states"

    read: list[str]  # the token read before each state; the first is the start
    predicted: list[str]  # the token of each loss
    norms: dict[str, np.ndarray]  # "state", "layer 1 hidden", …: (T, T), zero where i > t

    @classmethod
    def look(cls, subject: Subject) -> GradientFlow:
        watched = watch(subject.model)
        parts = [_norms(watched, subject, rows) for rows in parts_of_rows(subject)]
        norms = {name: np.concatenate([part[name] for part in parts], axis=1) for name in parts[0]}
        return cls(subject.read, subject.tokens, norms)

    def by_distance(self, name: str = WHOLE) -> list[float]:
        """The mean norm over all pairs at each distance, from 0."""
        norms = self.norms[name]
        return [float(np.diagonal(norms, distance).mean()) for distance in range(len(norms))]

    def of_loss(self, place: int, name: str = WHOLE) -> list[float]:
        """The norm of the gradient of one loss, by distance."""
        return [float(value) for value in self.norms[name][place::-1, place]]

    def half_life(self, name: str = WHOLE) -> int | None:
        """The first distance at which the mean norm is less than half of that at 0."""
        norms = self.by_distance(name)
        return next((d for d, norm in enumerate(norms) if norm < norms[0] / 2), None)

    def to_data(self) -> dict[str, Any]:
        """Plain data; None where the state came after the loss."""
        return {
            "read": self.read,
            "predicted": self.predicted,
            "norms": {name: _above(norms) for name, norms in self.norms.items()},
            "by_distance": {name: self.by_distance(name) for name in self.norms},
            "half_life": {name: self.half_life(name) for name in self.norms},
        }

    def drawings(self) -> list[Drawing]:
        title = "Gradient of each loss with respect to each earlier state (norm)"
        heat = self.heat_map(title, self.norms[WHOLE])
        shown = [name for name in self.norms if name != WHOLE or len(self.norms) != 2]
        curves = _distance_curves(
            "The same by distance (mean)", {name: self.by_distance(name) for name in shown}
        )
        return [heat, curves]

    def heat_map(self, title: str, norms: np.ndarray, low: float | None = None) -> Drawing:
        """States against losses, on a logarithmic scale that begins with `low`."""
        return Drawing(
            "heatMap",
            {
                "title": title,
                "rows": self.read,
                "columns": self.predicted,
                "values": _above(np.maximum(norms, _LEAST)),
                "scale": "log",
                "low": low or _lowest(norms),
                "rowLabel": "state after",
                "columnLabel": "loss of",
                "between": "→",
            },
        )

    def summary(self) -> list[str]:
        norms = self.by_distance()
        half, far = self.half_life(), len(norms) - 1
        steps = "step" if half == 1 else "steps"
        fades = f"falls below half after {half} {steps}" if half else "does not fall below half"
        share = norms[far] / norms[0] if norms[0] else 0.0
        return [
            f"The gradient {fades}; at distance {far}, the longest here, it has "
            f"{share:.2g} times the norm that it has at distance 0."
        ]


def side_by_side(flows: Mapping[str, GradientFlow]) -> list[Drawing]:
    """Compare several models, each relative to its mean norm at distance 0: curves by distance,
    over all losses and for the last one, and a heat map of each model on one scale.
    """
    means = {name: _shares(flow.by_distance()) for name, flow in flows.items()}
    lasts = {name: _shares(flow.of_loss(-1)) for name, flow in flows.items()}
    words = {flow.predicted[-1] for flow in flows.values()}
    of = f"of the last loss ({words.pop()})" if len(words) == 1 else "of the last loss"
    label = "share of the norm at distance 0"
    maps = {name: flow.norms[WHOLE] / (flow.by_distance()[0] or 1) for name, flow in flows.items()}
    low = min(map(_lowest, maps.values()))
    return [
        _distance_curves("Gradient by distance, mean over all losses", means, label),
        _distance_curves(f"Gradient by distance, {of}", lasts, label),
        *(flow.heat_map(f"{name}: {label}", maps[name], low) for name, flow in flows.items()),
    ]


def _norms(watched: Watched, subject: Subject, rows: torch.Tensor) -> dict[str, np.ndarray]:
    """Norms (T, rows) of the gradients of the losses at these places."""
    watched.clear()
    with torch.enable_grad():
        losses(watched.model, inputs_of(subject), torch.from_numpy(subject.ids), rows).backward()  # type: ignore[no-untyped-call]
    squares: dict[str, torch.Tensor] = {}
    for record in watched.records:
        for place, name in enumerate(record.state_names()):
            steps = [_squares(probes[place]) for probes in record.probes]
            squares[f"{record.name} {name}"] = torch.stack(steps)  # (T, rows)
    everything = {WHOLE: torch.stack([*squares.values()]).sum(0)} | squares
    return {name: value.sqrt().numpy(force=True) for name, value in everything.items()}


def _squares(probe: torch.Tensor) -> torch.Tensor:
    """The squared norm of a probe's gradient in each row, (B,), in double precision."""
    if probe.grad is None:  # no requested loss depends on it
        return probe.new_zeros(len(probe), dtype=torch.float64)
    return probe.grad.double().square().sum(1)


def _distance_curves(
    title: str, series: Mapping[str, list[float]], label: str = "norm of the gradient"
) -> Drawing:
    longest = max(map(len, series.values()))
    return Drawing(
        "curves",
        {
            "title": title,
            "series": [
                {"name": name, "y": [value or None for value in numbers(np.array(values))]}
                for name, values in series.items()
            ],
            "xLabel": "distance in tokens" if longest else "",
            "yLabel": label,
            "logY": True,
        },
    )


def _lowest(norms: np.ndarray) -> float:
    """The start of a colour scale; smaller norms are negligible."""
    smallest = float(norms[norms > 0].min(initial=1.0))
    return max(_LEAST, smallest, float(norms.max(initial=0)) * _DEEPEST)


def _shares(values: list[float]) -> list[float]:
    return [value / values[0] if values[0] else 0.0 for value in values]


def _above(norms: np.ndarray) -> Any:
    """As lists, with None below the diagonal."""
    return numbers(np.where(np.triu(np.ones_like(norms)) > 0, norms, np.nan))
