"""Refuse second derivatives where only the first is written out.

PyTorch's own `once_differentiable` complains only if the way it guards is taken: asked for the
second derivative of one weight, autograd may go around it and give a part of the answer.
"""

from __future__ import annotations

import torch


def refuse_second_derivative() -> None:
    """To be called by a gradient that is not itself recorded; `create_graph=True` enables that."""
    if torch.is_grad_enabled():
        raise RuntimeError(
            "recurrent cells have no second derivative: compute gradients without create_graph=True"
        )
