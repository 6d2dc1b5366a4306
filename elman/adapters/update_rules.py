"""How weights learn from the gradient of one segment of text, in dynamic evaluation.

    sgd    w ← w - η g                                        one step downhill (Mikolov)
    rms    w ← w + λ D (w₀ - w) - η g / (RMS + ε)             and back to where they were (Krause)

g is the gradient of the segment's mean loss; w₀ are the trained weights; RMS is the root mean
square of gradients over training text (`gradient_statistics.py`), a number per weight, and D = RMS
over its mean, at most 1/λ (Krause et al. 2018). There the mean is over each tensor's mean; here it
is over all weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import torch

    from elman.adapters.flat_weights import Worker


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
