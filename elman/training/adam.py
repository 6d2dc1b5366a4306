"""Adam with the results of torch, bit for bit, in less time.

    m ← β1 m + (1 - β1) g;  v ← β2 v + (1 - β2) g²
    w ← w - ε m / (1 - β1^t) / (√(v / (1 - β2^t)) + ϵ)             (Kingma and Ba 2015)

Takes and gives what `torch.optim.Adam` does; made by `optimizers.py`. MKL takes ten times as long
for the square root of zero as for other roots, and tables of hashed features are mostly zero. So v
is raised to the smallest normal number before its root is taken; adding ϵ hides the difference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_SMALLEST = torch.finfo(torch.float32).tiny
_LEAST_EPSILON = 1e-11  # from here on, adding the root of _SMALLEST (1e-19) changes no bit


class Adam(torch.optim.Adam):
    """`torch.optim.Adam` without the roots of zeros."""

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        if closure is not None or not all(map(_is_plain, self.param_groups)):
            return super().step(closure)
        for group in self.param_groups:
            weights: list[Tensor] = []
            gradients: list[Tensor] = []
            firsts: list[Tensor] = []
            seconds: list[Tensor] = []
            steps: list[Tensor] = []
            self._init_group(group, weights, gradients, firsts, seconds, [], steps)  # type: ignore[no-untyped-call]
            for weight, gradient, first, second, step in zip(
                weights, gradients, firsts, seconds, steps, strict=True
            ):
                step += 1
                _update(weight, gradient, first, second, step.item(), group)
        return None


def _is_plain(group: dict[str, Any]) -> bool:
    """Whether the parameters are float32 on the CPU and only options of elman are set."""
    # The last option is missing before torch 2.7.
    names = "amsgrad maximize capturable differentiable foreach fused decoupled_weight_decay"
    return not any(group.get(name) for name in names.split()) and all(
        one.device.type == "cpu" and one.dtype == torch.float32 for one in group["params"]
    )


def _update(
    weight: Tensor,
    gradient: Tensor,
    first: Tensor,
    second: Tensor,
    step: float,
    group: dict[str, Any],
) -> None:
    """Change a parameter and its running means."""
    beta1, beta2 = group["betas"]
    rate, decay, epsilon = group["lr"], group["weight_decay"], group["eps"]
    size = rate / (1 - beta1**step)
    scale = (1 - beta2**step) ** 0.5
    if decay:
        gradient = gradient.add(weight, alpha=decay)
    first.lerp_(gradient, 1 - beta1)
    second.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    root = second.clamp_min(_SMALLEST).sqrt_() if epsilon >= _LEAST_EPSILON else second.sqrt()
    weight.addcdiv_(first, root.div_(scale).add_(epsilon), value=-size)
