"""Ways around a layer: what is handed on to the next.

With x what came to the layer and y what it made of it,

    none        y
    residual    x + y                                  (He et al. 2016)
    dense       [x, y]: every layer reads all below    (Huang et al. 2017; Ding et al. 2018)
    highway     g ∘ y + (1 - g) ∘ x, g = σ(W x + b)    (Srivastava et al. 2015)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import nn

from elman.errors import InputError
from elman.registry import Registry

_CARRY = -2.0  # bias of a fresh highway gate: most is carried around, σ(-2) = 0.12 of y goes in


class Connection(nn.Module, ABC):
    """A way around one layer; `size` is how much it hands on per step."""

    about: ClassVar[str]

    def __init__(self, input_size: int, output_size: int) -> None:
        super().__init__()
        self.size = self.size_from(input_size, output_size)

    @abstractmethod
    def size_from(self, input_size: int, output_size: int) -> int:
        """How much is handed on; an InputError if the two sizes do not go together."""

    @abstractmethod
    def forward(self, entered: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        """What is handed on, (B, T, size), from (B, T, input_size) and (B, T, output_size)."""


class Plain(Connection):
    """No way around."""

    about = "none: each layer reads the one below"

    def size_from(self, input_size: int, output_size: int) -> int:
        return output_size

    def forward(self, entered: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        return output


class Residual(Connection):
    """A layer learns what to add."""

    about = "a layer's output is added to its input (He et al. 2016)"

    def size_from(self, input_size: int, output_size: int) -> int:
        return _same_size("residual", input_size, output_size)

    def forward(self, entered: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        return entered + output


class Dense(Connection):
    """Nothing is lost on the way up; the top hands on the input and the output of every layer."""

    about = "a layer reads the outputs of all layers below (Huang et al. 2017)"

    def size_from(self, input_size: int, output_size: int) -> int:
        return input_size + output_size

    def forward(self, entered: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        return torch.cat([entered, output], dim=-1)


class Highway(Connection):
    """A gate per unit decides between the layer's output and its input."""

    about = "a gate chooses between a layer's output and its input (Srivastava et al. 2015)"

    def __init__(self, input_size: int, output_size: int) -> None:
        super().__init__(input_size, output_size)
        self.gate = nn.Linear(input_size, output_size)
        nn.init.constant_(self.gate.bias, _CARRY)

    def size_from(self, input_size: int, output_size: int) -> int:
        return _same_size("highway", input_size, output_size)

    def forward(self, entered: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        return torch.lerp(entered, output, torch.sigmoid(self.gate(entered)))


def _same_size(name: str, input_size: int, output_size: int) -> int:
    if input_size != output_size:
        raise InputError(
            f"connection={name!r}: a layer reads {input_size} and gives {output_size} numbers per "
            "step, and they must be equal; change hidden_size, or choose 'none' or 'dense'"
        )
    return output_size


CONNECTIONS = Registry(
    "connection",
    {"none": Plain, "residual": Residual, "dense": Dense, "highway": Highway},
    group="connections",
)
