"""What the cells share that write out the way back through a whole sequence.

Recording every step for autograd costs a tenth of the time, so the classical cells do without: all
their steps are one function to autograd, and the equations of back-propagation through time are its
gradient (`elman_sequence.py`, `gru_sequence.py`, `torch_gru_sequence.py`, `lstm_sequence.py`). The
input part of all steps is computed before the function, and autograd finds its gradient; the
gradient of U is one product after the loop. Inside, time comes first: values of all steps are then
tall matrices, and outputs are the states that the next steps read, without copies.
"""

from __future__ import annotations

import torch

from elman.cells.engine import Run

# derivative(gradient, value, grad_input=where): gradient ∘ f'(a), from value = f(a), into where
tanh_derivative = torch.ops.aten.tanh_backward.grad_input  # 1 - value²
sigmoid_derivative = torch.ops.aten.sigmoid_backward.grad_input  # value (1 - value)


def time_first(inputs: torch.Tensor) -> torch.Tensor:
    """(B, T, size) to (T, B, size), laid out that way."""
    return inputs.transpose(0, 1).contiguous()


def states_from(start: torch.Tensor, time: int) -> torch.Tensor:
    """Room for h_0 … h_T, (T + 1, B, H), with h_0 in its place."""
    states = start.new_empty(time + 1, *start.shape)
    states[0] = start
    return states


def weight_gradient(arrived: torch.Tensor, read: torch.Tensor) -> torch.Tensor:
    """dU = sum over t of da_t v_tᵀ, from da (T, B, rows) and v (T, B, size), in one product."""
    return arrived.flatten(0, 1).t() @ read.flatten(0, 1)


def finished(outputs: torch.Tensor) -> Run:
    """The run that gave h_1 … h_T, (T, B, H)."""
    return Run(outputs.transpose(0, 1), (outputs[-1],))
