"""The complete state of a training at one moment: named tensors and plain data.

Taken and restored by the trainer, held by the loop, written to disk by the tasks. The parts of a
training store their tensors under a prefix, as in `optimizer/stack.0.weight/exp_avg`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

Tensors = dict[str, torch.Tensor]


@dataclass
class Snapshot:
    """The complete state of a training."""

    weights: Tensors  # the current weights
    best: Tensors  # the weights with the best validation; the current ones before any
    memory: Tensors  # of optimizer, averages, regime, carried state and random generators
    data: dict[str, Any]  # counters, position and schedule; plain data


def copied(tensors: Tensors) -> Tensors:
    """A copy that later steps do not change."""
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}


def put_under(prefix: str, tensors: Tensors) -> Tensors:
    """The tensors with `prefix/` before their names."""
    return {f"{prefix}/{name}": tensor for name, tensor in tensors.items()}


def take_from(prefix: str, tensors: Tensors) -> Tensors:
    """The tensors under the prefix, by their own names: the reverse of `put_under`."""
    return {
        name.removeprefix(f"{prefix}/"): tensor
        for name, tensor in tensors.items()
        if name.startswith(f"{prefix}/")
    }


def random_states(device: torch.device) -> Tensors:
    """The state of every random generator that a training on the device draws from."""
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return states


def restore_random_states(states: Tensors, device: torch.device) -> None:
    """Restore the random generators from `random_states`."""
    # Copies: torch crashes on a view of another tensor here.
    torch.set_rng_state(states["cpu"].cpu().clone())
    if "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"].cpu().clone(), device)
