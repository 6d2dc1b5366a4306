"""The gradient of a matrix that is used at every step, in one product after all of them.

In a loop of steps, part_t + U v_t, the gradient that arrives at part_t is also that of U v_t. So U
takes part in the loop without a gradient of its own, and afterwards dU = Σ_t dpart_t v_tᵀ is one
product of two tall matrices. Called by the engine and by what steps through time in its place.
"""

from __future__ import annotations

from typing import Any

import torch

from elman.cells.second_derivative import refuse_second_derivative


def defer(
    part: torch.Tensor, weight: torch.Tensor, read: list[torch.Tensor], order: list[int]
) -> torch.Tensor:
    """The part (T, B, rows) as it is; its gradient also gives that of the weight (rows, size).

    read: every v that the weight is going to be applied to, cut off from the graph; order: at which
    step. Both are filled by the loop that follows.
    """
    if not (weight.requires_grad and torch.is_grad_enabled()):
        return part
    result: torch.Tensor = _Deferred.apply(part, weight, read, order)  # type: ignore[no-untyped-call]
    return result


class _Deferred(torch.autograd.Function):
    """Passes the prepared part through; its gradient also gives that of U, in one product."""

    @staticmethod
    def forward(
        ctx: Any,
        part: torch.Tensor,
        weight: torch.Tensor,
        read: list[torch.Tensor],
        order: list[int],
    ) -> torch.Tensor:
        ctx.read, ctx.order = read, order
        return part.view_as(part)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None, None]:
        refuse_second_derivative()
        states = torch.stack(ctx.read)  # (steps, B, state_size), in the order they were read
        arrived = gradient if ctx.order == list(range(len(gradient))) else gradient[ctx.order]
        rows = arrived.reshape(-1, arrived.shape[-1])
        return gradient, rows.t() @ states.reshape(-1, states.shape[-1]), None, None
