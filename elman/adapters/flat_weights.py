"""A copy of a neural model to try weights on, so that the model itself stays as it is."""

from __future__ import annotations

import copy

import torch

from elman.models.neural import NeuralModel


class Worker:
    """A copy of a model whose weights lie in one row, (P,)."""

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
