"""What a run folder keeps of a network: its weights as arrays, by name, and back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import nn

from elman.errors import ElmanError
from elman.models.eight_bits import unpack


class NotFinite(ElmanError):
    """Weights with which nothing can be computed, as a training that diverged leaves them."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} NaN or infinity: the training diverged; train again with a lower "
            "training.learning_rate"
        )


class Kept(nn.Module):
    """A module whose weights go to disk and come back."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that was learned, by name."""
        return {name: value.numpy(force=True) for name, value in self.state_dict().items()}

    def load_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take over arrays; every name and shape must fit."""
        own, arrays = self.state_dict(), unpack(arrays)
        if own.keys() != arrays.keys():
            different = ", ".join(sorted(own.keys() ^ arrays.keys()))
            raise ValueError(f"these weights are not the model's: {different}")
        for name, value in own.items():
            if value.shape != arrays[name].shape:
                raise ValueError(f"{name} is {arrays[name].shape}, not {tuple(value.shape)}")
            if not np.isfinite(arrays[name]).all():
                raise NotFinite(f"the weights {name} hold")
            value.copy_(torch.from_numpy(arrays[name]))

    def count_parameters(self) -> int:
        """How many numbers it has."""
        return sum(parameter.numel() for parameter in self.parameters())
