"""Products with a matrix that every step uses: packed once, with one gradient for all steps."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch

from elman.matrix_products import add_product, has_onednn, multiply, onednn_is_faster

# Below these sizes, arranging or the detour through Python costs more than it saves.
_FEWEST_WEIGHTS = 600_000
_FEWEST_WITH_ONEDNN = 150_000  # where oneDNN computes all large products
_FEWEST_WEIGHTS_BACK = 2_000_000  # the transpose takes longer to arrange, and gains less
_FEWEST_STEPS = 8
_MOST_ROWS = 256


def lay_out(weight: torch.Tensor, time: int, rows: int) -> Plain:
    """The matrix in the fastest layout for `time` products of `rows` rows, without a gradient.

    With 20 rows, a plain product reaches half of the speed of the machine, because it rearranges
    the matrix at every call. oneDNN, inside PyTorch, accepts a rearranged matrix. It is made once
    per sequence, forward and transposed, and used by every step of both loops.
    """
    kind = Packed if worth_packing(weight, time, rows) else Plain
    return kind(weight.detach(), rows)


def worth_packing(weight: torch.Tensor, time: int, rows: int) -> bool:
    """Whether products of `rows` rows with this matrix, `time` times, are faster packed."""
    fewest = _FEWEST_WITH_ONEDNN if onednn_is_faster() else _FEWEST_WEIGHTS
    return (
        weight.numel() >= fewest
        and time >= _FEWEST_STEPS
        and 1 < rows <= _MOST_ROWS
        and can_pack(weight)
    )


def can_pack(weight: torch.Tensor) -> bool:
    """Whether oneDNN can rearrange this matrix."""
    return weight.device.type == "cpu" and weight.dtype == torch.float32 and has_onednn()


class Plain:
    """A matrix U (rows, size) in the normal layout."""

    def __init__(self, weight: torch.Tensor, rows: int) -> None:
        self.weight = weight
        self.rows = rows

    def add(self, prepared: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        """prepared + state Uᵀ, with gradients for both."""
        return self.forward(prepared, state)

    def forward(self, prepared: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        """prepared + state Uᵀ, for an explicit backward pass."""
        return add_product(prepared, state, self.weight.t())

    def backward(self, gradient: torch.Tensor) -> torch.Tensor:
        """gradient U: the gradient of the state."""
        return multiply(gradient, self.weight)


class Packed(Plain):
    """A matrix U (rows, size) in the layout of oneDNN, and its transpose for the backward pass."""

    def __init__(self, weight: torch.Tensor, rows: int) -> None:
        super().__init__(weight, rows)
        self._packed = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), rows)

    @cached_property
    def _transposed(self) -> torch.Tensor | None:
        """The transpose, made when the backward pass begins; None if it does not pay off."""
        if self.weight.numel() < _FEWEST_WEIGHTS_BACK and not onednn_is_faster():
            return None
        return torch.ops.mkldnn._reorder_linear_weight(self.weight.t(), self.rows)

    def add(self, prepared: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        if torch.is_grad_enabled() and (prepared.requires_grad or state.requires_grad):
            return _PackedProduct.apply(prepared, state, self)  # type: ignore[no-untyped-call]
        return self.forward(prepared, state)

    def forward(self, prepared: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        product = torch.ops.mkldnn._linear_pointwise.binary
        return product(state.contiguous(), prepared, self._packed, None, "add")

    def backward(self, gradient: torch.Tensor) -> torch.Tensor:
        if self._transposed is None:
            return multiply(gradient, self.weight)
        product = torch.ops.mkldnn._linear_pointwise
        return product(gradient.contiguous(), self._transposed, None, "none", [], "")


class _PackedProduct(torch.autograd.Function):
    """prepared + state Uᵀ with gradients for both."""

    @staticmethod
    def forward(
        ctx: Any, prepared: torch.Tensor, state: torch.Tensor, packed: Packed
    ) -> torch.Tensor:
        ctx.packed = packed
        return packed.forward(prepared, state)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
        refuse_second_derivative()
        return gradient, ctx.packed.backward(gradient), None


def defer(
    part: torch.Tensor, weight: torch.Tensor, read: list[torch.Tensor], order: list[int]
) -> torch.Tensor:
    """Compute the gradient of a matrix that every step uses in one product after all steps.

    In a loop of steps part_t + U v_t, the gradient of part_t is also that of U v_t. So U has no
    gradient in the loop, and afterwards dU = Σ_t dpart_t v_tᵀ is one product of two tall matrices.
    Called by the engine and by `layers/late_stack.py`.

    read: every v that the weight is multiplied with, detached; order: the step of each. The loop
    that follows fills both.
    """
    if not (weight.requires_grad and torch.is_grad_enabled()):
        return part
    return _Deferred.apply(part, weight, read, order)  # type: ignore[no-untyped-call]


class _Deferred(torch.autograd.Function):
    """Pass the prepared part through; its gradient also gives that of U, in one product."""

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
        return gradient, multiply(rows.t(), states.reshape(-1, states.shape[-1])), None, None


def refuse_second_derivative() -> None:
    """Raise for second derivatives where only the first is implemented.

    Called by backward functions that autograd does not record; `create_graph=True` would need that.
    `once_differentiable` of PyTorch raises only if autograd passes through it: for the second
    derivative of one weight, autograd may go around it and return a partial result.
    """
    if torch.is_grad_enabled():
        raise RuntimeError(
            "recurrent cells have no second derivative: compute gradients without create_graph=True"
        )
