"""Refuse tensors of the wrong shape, in one line, before a kernel sees them.

On a CPU, PyTorch's kernels believe what they are told: with a state for fewer rows, or inputs of
another size, `torch.lstm` reads and writes beyond the end of memory instead of complaining.
"""

from __future__ import annotations

import torch

from elman.cells.cell import Cell, States, Weights


def check_inputs(inputs: torch.Tensor, input_size: int) -> None:
    """Vectors (B, T, input_size)."""
    if inputs.ndim != 3 or inputs.shape[2] != input_size:
        raise ValueError(
            f"inputs of shape {tuple(inputs.shape)}: expected (batch, time, {input_size})"
        )
    if not inputs.is_floating_point():
        raise ValueError(f"inputs of type {inputs.dtype}: expected vectors, not ids; embed them")


def check_state(state: States, cell: Cell, batch_size: int) -> None:
    """One tensor (B, size) for each state of the cell."""
    expected = [(batch_size, size) for size in cell.state_sizes]
    found = [tuple(tensor.shape) for tensor in state]
    if found != expected:
        raise ValueError(f"state of shapes {found}: expected a tuple of tensors of {expected}")


def check_weights(weights: Weights, cell: Cell) -> None:
    """Every weight that the cell names, in its shape; others are nobody's business."""
    for name, shape in cell.shapes().items():
        if name not in weights:
            raise ValueError(f"weights lack {name!r}, of shape {shape}")
        if weights[name].shape != shape:
            found = tuple(weights[name].shape)
            raise ValueError(f"weight {name!r} of shape {found}: expected {shape}")


def check_lengths(lengths: torch.Tensor, batch_size: int, time: int) -> None:
    """A whole number from 0 to T for each row."""
    if not isinstance(lengths, torch.Tensor) or lengths.dtype not in (torch.int64, torch.int32):
        raise ValueError("lengths: expected a tensor of whole numbers (torch.int64)")
    if tuple(lengths.shape) != (batch_size,):
        raise ValueError(
            f"lengths of shape {tuple(lengths.shape)}: expected one per row, ({batch_size},)"
        )
    if batch_size and not 0 <= int(lengths.min()) <= int(lengths.max()) <= time:
        raise ValueError(
            f"lengths from {int(lengths.min())} to {int(lengths.max())}: must lie between 0 and "
            f"the number of steps, {time}"
        )
