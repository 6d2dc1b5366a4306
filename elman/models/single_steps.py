"""A recurrent network prepared for single steps: the quickest way to generate text.

Takes the prepared products of a network (`cells/stepping.py`). Gives the state after one more id
per row, and the scores of the next one, without the detour through modules, which costs more than
the arithmetic of a small network. It is valid while the weights stay the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import nn
from torch.nn.functional import embedding

from elman.cells.eight_bits import Linear
from elman.cells.stepping import Stepper
from elman.state import State


class SingleSteps:
    """Word vectors, a stepper per layer, and the product of the output."""

    def __init__(
        self,
        table: torch.Tensor,
        steppers: Sequence[Stepper],
        product: Linear,
        modules: Sequence[nn.Module],
    ) -> None:
        """modules: those that own the weights."""
        self._table = table.detach()
        self._steppers = steppers
        self._product = product
        self._owners = [module._parameters for module in modules if module._parameters]
        self._from = self._marks()

    @property
    def is_valid(self) -> bool:
        """Whether the weights are the same as when it was made, and no gradients are wanted."""
        return not torch.is_grad_enabled() and self._marks() == self._from

    def read(self, ids: torch.Tensor, carried: State) -> State:
        """The state of a `RecurrentModel` after one more id in each row, (B, 1).

        carried: the states of the stack and of the output before it.
        """
        parts: Any = carried
        layers, memory = parts
        values = embedding(ids[:, 0], self._table)
        after = []
        for stepper, (before,) in zip(self._steppers, layers, strict=True):
            states = stepper.step(values, before)
            values = states[0]
            after.append((states,))
        return (values,), (tuple(after), memory)

    def scores(self, state: State) -> torch.Tensor:
        """The scores of the next id, (B, V)."""
        return self._product(cast("Any", state)[0][0])

    def _marks(self) -> list[tuple[int, int]]:
        """The memory addresses and version counters of the weights."""
        return [
            (weight.data_ptr(), weight._version)
            for owner in self._owners
            for weight in owner.values()
            if weight is not None
        ]

    def __reduce__(self) -> Any:
        """Copies and pickles are None, because their weights will be others."""
        return type(None), ()
