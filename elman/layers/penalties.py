"""Penalties on activations (Merity et al. 2017, "Revisiting activation regularization").

AWD-LSTM adds to its loss, for the last layer,

    α · activation_penalty(dropped outputs) + β · temporal_penalty(raw outputs)      α = 2, β = 1

so AR sees what the output layer sees, and TAR what the recurrence did, free of dropout's noise. Of
a `StackRun` these are `outputs` and `raw_outputs`.
"""

from __future__ import annotations

import torch


def activation_penalty(outputs: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
    """AR: the mean square of outputs (B, T, size), over the real tokens if a mask (B, T) is given.

    Keeps activations small.
    """
    return _mean(outputs.square(), mask)


def temporal_penalty(outputs: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
    """TAR: the mean squared difference of neighbouring steps of outputs (B, T, size).

    Keeps the state from changing quickly. With a mask, both neighbours must be real tokens; where
    there are no neighbours it is zero.
    """
    differences = outputs[:, 1:] - outputs[:, :-1]  # (B, T - 1, size)
    both = None if mask is None else mask[:, 1:] & mask[:, :-1]  # (B, T - 1)
    return _mean(differences.square(), both)


def _mean(values: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    """The mean of values (B, T, size) where the mask (B, T) is true; zero if it is nowhere."""
    if mask is None:
        return values.sum() / max(values.numel(), 1)
    kept = torch.where(mask.unsqueeze(-1), values, 0)
    return kept.sum() / (mask.sum() * values.shape[-1]).clamp(min=1)
