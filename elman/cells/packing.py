"""Products of few rows with one large matrix, many times over: the matrix laid out for it once.

With 20 rows, a plain product reaches half of what the machine can do, because it rearranges the
matrix at every call. oneDNN, inside PyTorch, can take the rearranged matrix instead. It is made
once per sequence, forward and transposed, and serves every step of both loops.
"""

from __future__ import annotations

from typing import Any

import torch

# Below these sizes, arranging or the detour through Python costs more than it saves.
_FEWEST_WEIGHTS = 600_000
_FEWEST_WEIGHTS_BACK = 2_000_000  # the transpose takes longer to arrange, and gains less
_FEWEST_STEPS = 8
_MOST_ROWS = 256


def worth_packing(weight: torch.Tensor, time: int, rows: int) -> bool:
    """Whether products of `rows` rows with this matrix, `time` times, are faster packed."""
    return (
        weight.device.type == "cpu"
        and weight.dtype == torch.float32
        and weight.numel() >= _FEWEST_WEIGHTS
        and time >= _FEWEST_STEPS
        and 1 < rows <= _MOST_ROWS
        and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    )


class Packed:
    """A matrix U (rows, size) in oneDNN's own layout, and its transpose for the way back."""

    def __init__(self, weight: torch.Tensor, rows: int) -> None:
        pack = torch.ops.mkldnn._reorder_linear_weight
        self.weight = weight
        self.forward = pack(weight, rows)
        worth = torch.is_grad_enabled() and weight.numel() >= _FEWEST_WEIGHTS_BACK
        self.backward = pack(weight.t(), rows) if worth else None

    def add(self, prepared: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        """prepared + state Uᵀ; U itself gets no gradient here."""
        if torch.is_grad_enabled() and (prepared.requires_grad or state.requires_grad):
            result: torch.Tensor = _PackedProduct.apply(prepared, state, self)  # type: ignore[no-untyped-call]
            return result
        return self.apply_forward(prepared, state)

    def apply_forward(self, prepared: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        product = torch.ops.mkldnn._linear_pointwise.binary
        return product(state.contiguous(), prepared, self.forward, None, "add")

    def apply_backward(self, gradient: torch.Tensor) -> torch.Tensor:
        if self.backward is None:
            return gradient @ self.weight
        product = torch.ops.mkldnn._linear_pointwise
        return product(gradient.contiguous(), self.backward, None, "none", [], "")


class _PackedProduct(torch.autograd.Function):
    """prepared + state Uᵀ with gradients for both."""

    @staticmethod
    def forward(
        ctx: Any, prepared: torch.Tensor, state: torch.Tensor, packed: Packed
    ) -> torch.Tensor:
        ctx.packed = packed
        return packed.apply_forward(prepared, state)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
        return gradient, ctx.packed.apply_backward(gradient), None
