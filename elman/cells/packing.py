"""Products of few rows with one large matrix, many times over: the matrix laid out for it once.

With 20 rows, a plain product reaches half of what the machine can do, because it rearranges the
matrix at every call. oneDNN, inside PyTorch, can take the rearranged matrix instead. It is made
once per sequence, forward and transposed, and serves every step of both loops.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch

from elman.cells.second_derivative import refuse_second_derivative

# Below these sizes, arranging or the detour through Python costs more than it saves.
_FEWEST_WEIGHTS = 600_000
_FEWEST_WEIGHTS_BACK = 2_000_000  # the transpose takes longer to arrange, and gains less
_FEWEST_STEPS = 8
_MOST_ROWS = 256


def lay_out(weight: torch.Tensor, time: int, rows: int) -> Plain:
    """The matrix as products of `rows` rows, `time` times, are fastest; it gets no gradient."""
    kind = Packed if worth_packing(weight, time, rows) else Plain
    return kind(weight.detach(), rows)


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


class Plain:
    """A matrix U (rows, size) as it is."""

    def __init__(self, weight: torch.Tensor, rows: int) -> None:
        self.weight = weight
        self.rows = rows

    def add(self, prepared: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        """prepared + state Uᵀ, with gradients for both."""
        return self.forward(prepared, state)

    def forward(self, prepared: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        """prepared + state Uᵀ, for a way back that is written out."""
        return torch.addmm(prepared, state, self.weight.t())

    def backward(self, gradient: torch.Tensor) -> torch.Tensor:
        """gradient U: what arrives at the state."""
        return gradient @ self.weight


class Packed(Plain):
    """A matrix U (rows, size) in oneDNN's own layout, and its transpose for the way back."""

    def __init__(self, weight: torch.Tensor, rows: int) -> None:
        super().__init__(weight, rows)
        self._packed = torch.ops.mkldnn._reorder_linear_weight(weight, rows)

    @cached_property
    def _transposed(self) -> torch.Tensor | None:
        """Made when the way back begins; None if that does not pay."""
        if self.weight.numel() < _FEWEST_WEIGHTS_BACK:
            return None
        packed: torch.Tensor = torch.ops.mkldnn._reorder_linear_weight(self.weight.t(), self.rows)
        return packed

    def add(self, prepared: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        if torch.is_grad_enabled() and (prepared.requires_grad or state.requires_grad):
            result: torch.Tensor = _PackedProduct.apply(prepared, state, self)  # type: ignore[no-untyped-call]
            return result
        return self.forward(prepared, state)

    def forward(self, prepared: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        product = torch.ops.mkldnn._linear_pointwise.binary
        result: torch.Tensor = product(state.contiguous(), prepared, self._packed, None, "add")
        return result

    def backward(self, gradient: torch.Tensor) -> torch.Tensor:
        if self._transposed is None:
            return gradient @ self.weight
        product = torch.ops.mkldnn._linear_pointwise
        result: torch.Tensor = product(
            gradient.contiguous(), self._transposed, None, "none", [], ""
        )
        return result


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
