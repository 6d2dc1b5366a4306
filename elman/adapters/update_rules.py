"""How weights learn from the gradient of one segment of text, in dynamic evaluation.

    sgd    w ← w - η g                                        one step downhill (Mikolov)
    rms    w ← w + λ D (w₀ - w) - η g / (RMS + ε)             and back to where they were (Krause)

g is the gradient of the segment's mean loss; w₀ are the trained weights; RMS is the root mean
square of gradients over training text (`root_mean_square`), a number per weight, and D = RMS
over its mean, at most 1/λ (Krause et al. 2018). There the mean is over each tensor's mean; here it
is over all weights.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import torch

from elman.batches.batch import Batch
from elman.errors import InputError
from elman.models.neural import NeuralModel


class Worker:
    """A copy of a neural model to try weights on, so that the model itself stays as it is."""

    def __init__(self, model: NeuralModel) -> None:
        self.model = copy.deepcopy(model).eval().requires_grad_(True)
        self._parameters = list(self.model.parameters())
        self.trained = torch.cat([parameter.detach().flatten() for parameter in self._parameters])
        self.weights = self.trained.clone()
        for parameter, place in zip(self._parameters, self.cut(self.weights), strict=True):
            parameter.data = place

    def cut(self, row: torch.Tensor) -> list[torch.Tensor]:
        """A number for each weight, (P,), as views in the shapes of the parameters."""
        pieces = torch.split(row, [parameter.numel() for parameter in self._parameters])
        shapes = [parameter.shape for parameter in self._parameters]
        return [piece.view(shape) for piece, shape in zip(pieces, shapes, strict=True)]

    def gradients(self, loss: torch.Tensor) -> list[torch.Tensor]:
        """Of a loss with respect to each parameter.

        Not gathered in one row: adding them up there would take as long as the update itself.
        """
        found = torch.autograd.grad(loss, self._parameters, materialize_grads=True)
        return list(found)


_COLUMNS = 100  # as in the authors' code


def root_mean_square(
    worker: Worker,
    ids: np.ndarray,
    steps: int,
    batches: int,
    progress: Callable[[int, int], None] = lambda tokens, of: None,
) -> torch.Tensor:
    """How large the gradient of each weight usually is, over training text (Krause et al. 2018).

    Over at most so many batches of 100 segments of so many steps, the state carried on. A number
    for each weight.
    """
    columns = min(_COLUMNS, len(ids) // (steps + 1))
    if columns < 1:
        raise InputError("dynamic: the training text is too short to take gradients from")
    per_column = len(ids) // columns
    text = torch.from_numpy(ids[: columns * per_column]).view(columns, -1)
    batches = min(batches, (per_column - 1) // steps)
    squares = torch.zeros_like(worker.weights)
    places = worker.cut(squares)
    state = None
    with torch.inference_mode(False):
        for begin in range(0, batches * steps, steps):
            seen = text[:, begin : begin + steps + 1]
            loss, state = worker.model.loss(Batch(seen[:, :-1], seen[:, 1:]), state)
            gradients = worker.gradients(loss.nats / loss.tokens)
            for place, gradient in zip(places, gradients, strict=True):
                place.addcmul_(gradient, gradient)
            progress(columns * steps, columns * steps * batches)
    return (squares / batches).sqrt()


class UpdateRule(Protocol):
    """One step of learning."""

    def update(self, worker: Worker, gradients: list[torch.Tensor]) -> None:
        """Change the worker's weights, from a gradient for each parameter."""

    def settings(self) -> dict[str, Any]:
        """The rule and its settings, as plain data."""


class Sgd:
    """One step downhill."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def update(self, worker: Worker, gradients: list[torch.Tensor]) -> None:
        for weights, gradient in zip(worker.cut(worker.weights), gradients, strict=True):
            weights.sub_(gradient, alpha=self.rate)

    def settings(self) -> dict[str, Any]:
        return {"rule": "sgd", "rate": self.rate}


class Rms:
    """A step as large as the gradients of each weight usually are small, and one back."""

    def __init__(self, rate: float, decay: float, epsilon: float, usual: torch.Tensor) -> None:
        """usual: the size of each weight's gradients, (P,)."""
        self.rate = rate
        self.decay = decay
        self._rates = rate / (usual + epsilon)
        self._back = (decay * usual / usual.mean().clamp(min=1e-30)).clamp(max=1)

    def update(self, worker: Worker, gradients: list[torch.Tensor]) -> None:
        # Bound by memory, so each weight is touched twice only.
        worker.weights.lerp_(worker.trained, self._back)
        steps = zip(worker.cut(worker.weights), worker.cut(self._rates), gradients, strict=True)
        for weights, rates, gradient in steps:
            weights.addcmul_(rates, gradient, value=-1)

    def settings(self) -> dict[str, Any]:
        return {"rule": "rms", "rate": self.rate, "decay": self.decay}
