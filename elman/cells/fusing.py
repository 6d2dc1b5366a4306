"""How PyTorch's kernels for whole sequences are called, with weights as arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from elman.cells.cell import States, Weights
from elman.cells.engine import Run


def run_fused(
    kernel: Callable[..., Any],
    inputs: torch.Tensor,
    state: States,
    weights: Weights,
    product: str,
) -> Run:
    """One layer, one direction, batch first: `torch.rnn_tanh`, `torch.lstm`, `torch.gru` …"""
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
