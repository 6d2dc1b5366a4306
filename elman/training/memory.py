"""Estimate the memory that a training needs at least, and the memory available.

The estimate comes from the shapes of the model (`models/weights.py`), before anything is built. A
training that cannot fit is refused; one that may fit is tried.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from torch import nn

from elman.errors import InputError
from elman.training.settings import TrainingConfig

try:
    import resource

    _HAS_LIMITS = True
except ImportError:  # Windows
    _HAS_LIMITS = False

_STATES = {"adam": 2, "adamw": 2, "rmsprop": 1, "adagrad": 1}  # optimizer state per parameter
_CONTROL_GROUP = Path("/sys/fs/cgroup/memory.max")  # of a container, on Linux


def needed_bytes(model: nn.Module, config: TrainingConfig) -> int:
    """Bytes for weights, gradients, optimizer state and averages, and for a snapshot of these with
    the best weights. Activations come on top.
    """
    weights = sum(value.nbytes for value in model.parameters())
    states = _STATES.get(config.optimizer, 1 if config.momentum else 0)
    if config.average != "none":
        states += 1
    return 2 * weights * (2 + states)


def available_bytes() -> int | None:
    """The memory available to this process; None if unknown."""
    limits = [_physical_bytes(), _control_group_bytes(), _limit_bytes()]
    return min((limit for limit in limits if limit is not None), default=None)


def peak_gigabytes() -> float | None:
    """The largest memory that this process has used so far; None if unknown."""
    if not _HAS_LIMITS:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e9 if sys.platform == "darwin" else 1e6)  # kilobytes, but bytes on a Mac


def refuse_too_large(model: nn.Module | None, config: TrainingConfig) -> None:
    """Raise an InputError if a training needs more memory than available."""
    available = available_bytes()
    if model is None or available is None:
        return
    needed = needed_bytes(model, config)
    if needed > available:
        parameters = sum(value.numel() for value in model.parameters())
        raise InputError(
            f"this training needs at least {_shown(needed)} of memory for {parameters:,} "
            f"parameters, but only {_shown(available)} are available; lower model.hidden_size, "
            "model.num_layers, model.embedding_size or text.vocabulary_size"
        )


def _shown(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size < 1e13 else f"{size / 1e12:,.0f} TB"


def _physical_bytes() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not on this system
        return None


def _control_group_bytes() -> int | None:
    try:
        return int(_CONTROL_GROUP.read_text())
    except (OSError, ValueError):  # "max", or no such thing
        return None


def _limit_bytes() -> int | None:
    if not _HAS_LIMITS:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit
