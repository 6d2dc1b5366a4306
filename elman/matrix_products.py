"""Products of matrices, computed by the library that is fastest on this processor.

PyTorch computes products of 32-bit numbers with MKL. On processors of AMD, MKL uses vectors of 256
bits, although Zen 5 computes with 512. oneDNN, which is also inside PyTorch, uses all of them and
takes less than half of the time. There, large products go to oneDNN; everywhere else, and for small
products, these functions are those of PyTorch, bit for bit. ELMAN_ONEDNN=0 turns oneDNN off, and 1
turns it on for other processors, where it has not been measured.

Takes and gives tensors, differentiable; called by cells, layers and models in training and scoring.
Single steps of generation have ways of their own (`cells/stepping.py`).
"""

from __future__ import annotations

import os
import platform
import re
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import _get_current_dispatch_mode

_ZEN_5 = 26  # the family that the processor gives
# oneDNN compiles code for every new shape, in about 0.6 ms, and keeps it for 1,024 shapes. With
# batches of many lengths, shapes hardly come back, so a product must gain more than that.
_FEWEST_MULTIPLICATIONS = 1 << 26


def multiply(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """left @ right, for two matrices."""
    if not _by_onednn(left, right):
        return left @ right
    return _product(left, right, None)


def add_product(added: torch.Tensor, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """added + left @ right; `added` is a row (n,) or a matrix (m, n)."""
    if not _by_onednn(left, right):
        return torch.addmm(added, left, right)
    if added.dim() == 1:
        return _product(left, right, added)
    return _product(left, right, None) + added


def linear(
    values: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor:
    """values Wᵀ + bias, as in `torch.nn.functional.linear`; `values` may have any dimensions."""
    if values.dim() < 2 or not _by_onednn(values, weight.t()):
        return nn.functional.linear(values, weight, bias)
    rows = values.reshape(-1, values.shape[-1])
    return _product(rows, weight.t(), bias).view(*values.shape[:-1], len(weight))


class LinearLayer(nn.Linear):
    """`torch.nn.Linear` with these products."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return linear(input, self.weight, self.bias)


# Without gradients, into memory that is there:


def multiply_into(out: torch.Tensor, left: torch.Tensor, right: torch.Tensor) -> None:
    """out = left @ right"""
    if _by_onednn(left, right):
        out.copy_(_onednn(left, right, None))
    else:
        torch.mm(left, right, out=out)


def add_product_into(
    out: torch.Tensor, added: torch.Tensor, left: torch.Tensor, right: torch.Tensor
) -> None:
    """out = added + left @ right, for a row `added`"""
    if _by_onednn(left, right):
        out.copy_(_onednn(left, right, added))
    else:
        torch.addmm(added, left, right, out=out)


def accumulate_product(total: torch.Tensor, left: torch.Tensor, right: torch.Tensor) -> None:
    """total += left @ right"""
    if _by_onednn(left, right):
        total += _onednn(left, right, None)
    else:
        total.addmm_(left, right)


def _product(left: torch.Tensor, right: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    parts = (left, right) if bias is None else (left, right, bias)
    if not (torch.is_grad_enabled() and any(part.requires_grad for part in parts)):
        return _onednn(left, right, bias)
    found: torch.Tensor = _Product.apply(left, right, bias)  # type: ignore[no-untyped-call]
    return found


class _Product(torch.autograd.Function):
    """left @ right + bias. Its gradients are products too, so they have gradients themselves."""

    @staticmethod
    def forward(
        ctx: Any, left: torch.Tensor, right: torch.Tensor, bias: torch.Tensor | None
    ) -> torch.Tensor:
        ctx.save_for_backward(left, right)
        return _onednn(left, right, bias)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        left, right = ctx.saved_tensors
        for_left, for_right, for_bias = ctx.needs_input_grad
        return (
            multiply(gradient, right.t()) if for_left else None,
            multiply(left.t(), gradient) if for_right else None,
            gradient.sum(0) if for_bias else None,
        )


def _onednn(left: torch.Tensor, right: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    weight = right.t()
    if not (weight.is_contiguous() or right.is_contiguous()):
        weight = weight.contiguous()  # with gaps in it, oneDNN takes a thousand times as long
    found: torch.Tensor = torch.ops.mkldnn._linear_pointwise(left, weight, bias, "none", [], "")
    return found


def _by_onednn(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether oneDNN should compute left @ right; `left` may have more dimensions than two."""
    return (
        left.numel() * right.shape[1] >= _FEWEST_MULTIPLICATIONS
        and left.dtype == right.dtype == torch.float32
        and left.device.type == right.device.type == "cpu"
        and onednn_is_faster()
        and not torch.compiler.is_compiling()
        and _get_current_dispatch_mode() is None  # nobody records the operations
    )


@cache
def onednn_is_faster() -> bool:
    """Whether oneDNN computes large products faster than MKL on this processor."""
    wish = os.environ.get("ELMAN_ONEDNN")
    if wish in ("0", "1"):
        return wish == "1" and has_onednn()
    return (
        torch.backends.cpu.get_cpu_capability() == "AVX512"
        and has_wide_vectors(_processor())
        and torch.backends.mkl.is_available()  # type: ignore[no-untyped-call]
        and has_onednn()
    )


def has_onednn() -> bool:
    """Whether oneDNN inside PyTorch takes matrices."""
    available: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return available and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def has_wide_vectors(processor: str) -> bool:
    """Whether this describes a processor of AMD that computes with 512 bits: Zen 5 or later."""
    family = re.search(r"family\s*:?\s*(\d+)", processor, re.IGNORECASE)
    return "AuthenticAMD" in processor and family is not None and int(family[1]) >= _ZEN_5


def _processor() -> str:
    """The system's description of the processor."""
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor()
