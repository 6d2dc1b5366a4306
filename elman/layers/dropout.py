"""Dropout as recurrent language models use it: functions of values, a rate and `training`.

What is dropped becomes zero, what stays is divided by 1 - rate, so expectations stay as they are
and evaluation needs no change. Masks come from torch's own random state, which a run saves and
restores; so there is no generator to hand around.

Inside of `one_network` every mask is drawn for one row and one step, and is the same for all rows
and steps and at every call: what is left is one thinned network that can read a whole text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

from elman.errors import InputError

_network: ContextVar[int | None] = ContextVar("network", default=None)  # seed of its masks


@contextmanager
def one_network(seed: int) -> Iterator[None]:
    """While inside, a model in training mode is one network, drawn by the seed."""
    before = _network.set(seed)
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        _network.reset(before)


def in_one_network() -> bool:
    """Whether masks are to stay the same."""
    return _network.get() is not None


def draw_masks_anew() -> None:
    """Called before a model computes: inside of `one_network`, the same masks follow again."""
    seed = _network.get()
    if seed is not None:
        torch.manual_seed(seed)


def dropout(values: torch.Tensor, rate: float, training: bool) -> torch.Tensor:
    """Every number on its own (Srivastava et al. 2014; between layers: Zaremba et al. 2014)."""
    everywhere = (1,) * (values.dim() - 1) + values.shape[-1:]
    return _drop(values, everywhere if in_one_network() else values.shape, rate, training)


def locked_dropout(values: torch.Tensor, rate: float, training: bool) -> torch.Tensor:
    """One mask per row, the same at every step (Gal and Ghahramani 2016). values: (B, T, size)."""
    rows = 1 if in_one_network() else len(values)
    return _drop(values, (rows, 1, values.shape[-1]), rate, training)


def embedding_dropout(weight: torch.Tensor, rate: float, training: bool) -> torch.Tensor:
    """Whole words: rows of an embedding matrix (V, size) (Gal and Ghahramani 2016)."""
    return _drop(weight, (len(weight), 1), rate, training)


def weight_drop(weight: torch.Tensor, rate: float, training: bool) -> torch.Tensor:
    """DropConnect on a matrix of weights (Wan et al. 2013; on U: Merity et al. 2018, AWD-LSTM).

    Drawn once for a whole sequence, so the same connections are missing at every step.
    """
    return _drop(weight, weight.shape, rate, training)


def check_rate(rate: float, name: str = "dropout") -> None:
    """Refuse what is no rate; 1 would leave nothing and divide by zero."""
    if not 0 <= rate < 1:
        raise InputError(f"{name}={rate}: must be from 0 to below 1")


def _drop(
    values: torch.Tensor, shape: tuple[int, ...], rate: float, training: bool
) -> torch.Tensor:
    """The values with a mask of this shape on them; in training only."""
    check_rate(rate)
    return values * _mask(values, tuple(shape), rate) if training and rate else values


def _mask(like: torch.Tensor, shape: tuple[int, ...], rate: float) -> torch.Tensor:
    """Zero with the rate, else 1 / (1 - rate).

    On a CPU, torch draws a number of its own for every entry, which takes longer than the product
    that follows. Sixteen random bits an entry do: the rate is then a multiple of 1/65536.
    """
    if like.device.type != "cpu":
        return like.new_empty(shape).bernoulli_(1 - rate).div_(1 - rate)
    dropped = round(rate * 65536)  # of 65,536 equally likely numbers
    entries = math.prod(shape)
    bits = torch.empty(entries // 4 + 1, dtype=torch.int64).random_(-(2**63), None)
    kept = bits.view(torch.int16)[:entries].view(shape) >= dropped - 32768
    return kept.to(like.dtype).mul_(65536 / max(65536 - dropped, 1))
