"""A cell around a cell: what changes a recurrence from outside, whatever cell it is.

Made by `recurrent.py` for one run at a time, which costs nothing: it has the weights and the states
of the cell inside. A class says in `step` what it changes; it has no kernel, so the engine always
runs it step by step.
"""

from __future__ import annotations

import torch

from elman.cells.cell import Cell, States, Weights


class WrappedCell(Cell):
    """As the cell inside, but for its steps."""

    def __init__(self, cell: Cell) -> None:
        super().__init__(cell.input_size, cell.hidden_size)
        self.cell = cell
        self.products = cell.products
        self.own_weights = cell.own_weights
        self.state_sizes = cell.state_sizes

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return self.cell.shapes()

    def initialise(self, weights: Weights) -> None:
        self.cell.initialise(weights)

    def start(self, batch_size: int, like: torch.Tensor) -> States:
        return self.cell.start(batch_size, like)
