"""What the cells share that compute a whole sequence at once.

Recording every step for autograd costs a tenth of the time, so the classical cells do without: all
their steps are one function to autograd, and the equations of back-propagation through time are its
gradient (`elman_rnn.py`, `gru.py`, `lstm.py`). The input part of all steps is
computed before the function, and autograd finds its gradient; the gradient of U is one product
after the loop. Inside, time comes first: values of all steps are then tall matrices, and outputs
are the states that the next steps read, without copies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from elman.cells.cell import States, Weights
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


def run_fused(
    kernel: Callable[..., Any],
    inputs: torch.Tensor,
    state: States,
    weights: Weights,
    product: str,
) -> Run:
    """One of PyTorch's kernels: `torch.rnn_tanh`, `torch.lstm`, `torch.gru` …

    One layer, one direction, batch first, with weights as arguments.
    """
    bias = weights.get(f"{product}_bias")
    flat = [weights[f"{product}_input"], weights[f"{product}_state"]]
    if bias is not None:
        second = weights.get(f"{product}_state_bias")
        flat += [bias, torch.zeros_like(bias) if second is None else second]
    layered = [tensor.unsqueeze(0).contiguous() for tensor in state]
    given = layered[0] if len(layered) == 1 else layered
    # biases, layers, dropout, training, two directions, batch first
    settings = (bias is not None, 1, 0.0, torch.is_grad_enabled(), False, True)
    outputs, *final = kernel(inputs, given, flat, *settings)
    return Run(outputs, tuple(tensor.squeeze(0) for tensor in final))
