"""Dropout as recurrent language models use it: functions of values, a rate and `training`.

Dropped values become zero and the others are divided by 1 - rate, so expectations do not change and
evaluation needs no scaling. Masks come from the random state of torch, which a run saves and
restores.

Inside `one_network`, every mask is drawn for one row and one step and reused for all rows, steps
and calls. The result is one dropout sample of the network that can read a whole text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

from elman.errors import InputError

_network: ContextVar[int | None] = ContextVar("network", default=None)  # seed of the masks


@contextmanager
def one_network(seed: int) -> Iterator[None]:
    """Within this context, a model in training mode is one dropout sample, set by the seed."""
    before = _network.set(seed)
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        _network.reset(before)


def in_one_network() -> bool:
    """Whether masks are fixed."""
    return _network.get() is not None


def draw_masks_anew() -> None:
    """Called before a model computes: inside `one_network`, restart the same masks."""
    seed = _network.get()
    if seed is not None:
        torch.manual_seed(seed)


def dropout(values: torch.Tensor, rate: float, training: bool) -> torch.Tensor:
    """Independent dropout (Srivastava et al. 2014; between layers: Zaremba et al. 2014)."""
    check_rate(rate)
    if not training:
        return values
    everywhere = (1,) * (values.dim() - 1) + values.shape[-1:]
    return _drop(values, everywhere if in_one_network() else values.shape, rate)


def locked_dropout(values: torch.Tensor, rate: float, training: bool) -> torch.Tensor:
    """One mask per row, the same at every step (Gal and Ghahramani 2016). values: (B, T, size)."""
    check_rate(rate)
    if not training:
        return values
    rows = 1 if in_one_network() else len(values)
    return _drop(values, (rows, 1, values.shape[-1]), rate)


def embedding_dropout(weight: torch.Tensor, rate: float, training: bool) -> torch.Tensor:
    """Whole words: rows of an embedding matrix (V, size) (Gal and Ghahramani 2016)."""
    check_rate(rate)
    return _drop(weight, (len(weight), 1), rate) if training else weight


def weight_drop(weight: torch.Tensor, rate: float, training: bool) -> torch.Tensor:
    """DropConnect on a matrix of weights (Wan et al. 2013; on U: Merity et al. 2018, AWD-LSTM).

    Drawn once for a whole sequence, so the same connections are missing at every step.
    """
    check_rate(rate)
    return _drop(weight, weight.shape, rate) if training else weight


def check_rate(rate: float, name: str = "dropout") -> None:
    """Raise if a rate is invalid; 1 would drop everything and divide by zero."""
    if not 0 <= rate < 1:
        raise InputError(f"{name}={rate}: must be from 0 to below 1")


def _drop(values: torch.Tensor, shape: tuple[int, ...], rate: float) -> torch.Tensor:
    """Multiply the values with a mask of this shape."""
    return values * _mask(values, tuple(shape), rate) if rate else values


def _mask(like: torch.Tensor, shape: tuple[int, ...], rate: float) -> torch.Tensor:
    """A mask: zero with probability `rate`, otherwise 1 / (1 - rate).

    On a CPU, torch draws one random number per entry, which takes longer than the next product.
    Sixteen random bits per entry are enough; the rate is then a multiple of 1/65536.
    """
    if like.device.type != "cpu":
        return like.new_empty(shape).bernoulli_(1 - rate).div_(1 - rate)
    dropped = round(rate * 65536)  # of 65,536 equally likely numbers
    entries = math.prod(shape)
    bits = torch.empty(entries // 4 + 1, dtype=torch.int64).random_(-(2**63), None)
    kept = bits.view(torch.int16)[:entries].view(shape) >= dropped - 32768
    return kept.to(like.dtype).mul_(65536 / max(65536 - dropped, 1))
