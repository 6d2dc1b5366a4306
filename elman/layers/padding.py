"""Rows of different lengths in one tensor: which places stand for a token, which for nothing."""

from __future__ import annotations

import torch


def real_tokens(values: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Where values (B, T, size) stand for a token and not for padding, (B, T)."""
    steps = torch.arange(values.shape[1], device=values.device)
    return steps < lengths.to(values.device)[:, None]
