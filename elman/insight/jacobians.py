"""Jacobians of the recurrence: how the steps stretch or shrink a state.

    J_t = ∂state_t/∂state_{t-1},       P_d = J_T J_{T-1} … J_{T-d+1} = ∂state_T/∂state_{T-d}
    spectral radius: the largest |eigenvalue| of P_d;    norm: its largest singular value

With a radius well below one, the network cannot learn from tokens d steps ago; above one, gradients
can explode (Pascanu et al. 2013). A state is everything the recurrence carries. Each step runs with
one row per number of the state; the backward pass of a row starts from its number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from elman.errors import InputError
from elman.insight.insight import Drawing, Insight, Subject, inputs_of, numbers
from elman.insight.recording import is_recurrent, twin_of
from elman.state import State, map_state, tensors

_LARGEST = 1000  # numbers in a state; the work grows with the cube of it
_ALL_DISTANCES = 150  # up to this size, every distance is computed
_DISTANCES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96)


@dataclass(frozen=True)
class Jacobians(Insight):
    """The effect of an earlier state, d steps later."""

    about: ClassVar[str] = "spectral radius and norm of the product of the Jacobians, by distance"

    size: int  # numbers in a state
    distances: list[int]
    radii: list[float]  # spectral radius of P_d
    norms: list[float]
    steps: list[float]  # norm of every J_t alone

    @classmethod
    def look(cls, subject: Subject) -> Jacobians:
        if not is_recurrent(subject.model):
            raise InputError("this model has no recurrent layers, so it carries no state")
        found = step_jacobians(subject.model, inputs_of(subject))
        if not found:
            raise InputError("the text has one token; Jacobians need at least two")
        size, longest = len(found[0]), len(found)
        wanted = range(1, longest + 1) if size <= _ALL_DISTANCES else _DISTANCES
        distances = [distance for distance in wanted if distance <= longest]
        radii, norms = [], []
        product, logarithm = np.eye(size), 0.0  # scaled; the log scale is separate
        for distance, jacobian in enumerate(reversed(found), 1):
            product = product @ jacobian
            scale = float(np.abs(product).max())
            if scale:
                product, logarithm = product / scale, logarithm + math.log(scale)
            if distance in distances:
                radius = float(np.abs(np.linalg.eigvals(product)).max())
                radii.append(_scaled(radius, logarithm))
                norms.append(_scaled(float(np.linalg.norm(product, 2)), logarithm))
        steps = [float(np.linalg.norm(jacobian, 2)) for jacobian in found]
        return cls(size, distances, radii, norms, steps)

    def per_step(self) -> float:
        """The mean factor per step over the longest distance: the radius to the power of 1/d."""
        return float(self.radii[-1] ** (1 / self.distances[-1]))

    def to_data(self) -> dict[str, Any]:
        return {**vars(self), "per_step": self.per_step()}

    def drawings(self) -> list[Drawing]:
        curves = {
            "title": "Product of the Jacobians: how much of a state is left, by distance",
            "series": [
                {"name": "spectral radius", "x": self.distances, "y": _drawn(self.radii)},
                {"name": "norm", "x": self.distances, "y": _drawn(self.norms)},
            ],
            "xLabel": "distance in tokens",
            "yLabel": "largest factor",
            "logY": True,
        }
        return [Drawing("curves", curves)]

    def summary(self) -> list[str]:
        radius, distance = self.radii[-1], self.distances[-1]
        return [
            f"Over {distance} steps the product of the Jacobians has the spectral radius "
            f"{radius:.2g}: a factor of {self.per_step():.3f} per step."
        ]


def step_jacobians(model: Any, inputs: torch.Tensor) -> list[np.ndarray]:
    """J_t of every step but the first, each (size, size), in double precision."""
    model = twin_of(model).double()
    state: State = model.begin(1)[0]
    size = sum(tensor.shape[1] for tensor in _floats(state))
    if size > _LARGEST:
        raise InputError(
            f"the state has {size:,} numbers; Jacobians are computed for up to {_LARGEST:,}"
        )
    found = []
    for place, number in enumerate(inputs):
        if place:
            found.append(_jacobian(model, number, state, size))
        with torch.no_grad():
            state = model.encode(number.view(1, 1), state)[1]
    return found


def _jacobian(model: Any, number: torch.Tensor, state: State, size: int) -> np.ndarray:
    def spread(tensor: torch.Tensor) -> torch.Tensor:
        rows = tensor.detach().repeat(size, *[1] * (tensor.dim() - 1))
        return rows.requires_grad_() if rows.is_floating_point() else rows

    before = map_state(spread, state)
    with torch.enable_grad():
        after = model.encode(number.view(1, 1).expand(size, 1), before)[1]
        joined = torch.cat(_floats(after), dim=1)  # (size, size)
        given = torch.autograd.grad(joined.diagonal().sum(), _floats(before), allow_unused=True)
    parts = [
        torch.zeros_like(tensor) if part is None else part
        for part, tensor in zip(given, _floats(before), strict=True)
    ]
    return torch.cat(parts, dim=1).numpy(force=True)


def _floats(state: State) -> list[torch.Tensor]:
    """The state tensors with gradients, each (B, size)."""
    return [tensor for tensor in tensors(state) if tensor.is_floating_point()]


def _scaled(value: float, logarithm: float) -> float:
    """value · e^logarithm, without a warning on overflow."""
    if value == 0:
        return 0.0
    total = math.log(value) + logarithm
    return math.exp(total) if total < 700 else math.inf


def _drawn(values: list[float]) -> Any:
    return [value or None for value in numbers(np.array(values))]
