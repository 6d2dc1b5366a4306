"""What came after moments like this one: the memory of the continuous cache.

    p_cache(w) ∝ Σ_i 1[w = w_i] exp(θ h · h_i)

A moment is the vector h_i that a word w_i was predicted from. Takes vectors, ids and the moments up
to them, gives p_cache; called by the continuous cache, and by what fits its θ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

NOTHING = -1  # where no word was read yet
_AT_ONCE = 256  # words compared with what is remembered at a time


def probabilities(
    vectors: torch.Tensor,
    ids: torch.Tensor,
    keys: torch.Tensor,
    words: torch.Tensor,
    window: int,
    thetas: Sequence[float],
) -> torch.Tensor:
    """p_cache of each id for each θ, (θ, B, T), from keys and words (B, window + T) up to it.

    Zero where nothing is remembered.
    """
    cached = torch.zeros(len(thetas), *ids.shape, dtype=torch.float64)
    for begin in range(0, ids.shape[1], _AT_ONCE):
        now = slice(begin, begin + _AT_ONCE)
        wanted = ids[:, now]
        seen = slice(begin, begin + window + wanted.shape[1] - 1)
        outside = _outside(words[:, seen], window, keys.dtype)
        alike = vectors[:, now] @ keys[:, seen].transpose(1, 2)
        same = (words[:, None, seen] == wanted[..., None]) & (outside == 0)
        places = same.nonzero(as_tuple=True)
        for number, theta in enumerate(thetas):
            whole = torch.add(outside, alike, alpha=theta).logsumexp(2)
            shares = (theta * alike[places] - whole[places[:2]]).exp()
            cached[number, :, now].index_put_(places[:2], shares.double(), accumulate=True)
    return cached


def distribution(
    vectors: torch.Tensor,
    keys: torch.Tensor,
    words: torch.Tensor,
    theta: float,
    vocabulary_size: int,
) -> torch.Tensor:
    """p_cache of every word, (B, V), after vectors (B, size); zeros where nothing is remembered."""
    alike = keys @ vectors[:, :, None]
    alike = (theta * alike[:, :, 0]).masked_fill(words == NOTHING, -math.inf)
    shares = torch.nan_to_num(alike.softmax(1).double())  # of nothing: none
    cached = torch.zeros(len(words), vocabulary_size, dtype=torch.float64)
    return cached.scatter_add_(1, words.clamp(min=0), shares)


def _outside(words: torch.Tensor, window: int, dtype: torch.dtype) -> torch.Tensor:
    """-inf for what a step cannot see of words (B, n), else 0; (B, t, n) or, alike for all, (t, n).

    The first of the t = n - window + 1 steps sees the first `window` words, the next is one on.
    """
    steps = words.shape[1] - window + 1
    ages = torch.arange(words.shape[1]) - torch.arange(steps)[:, None]
    hidden = (ages < 0) | (ages >= window)
    unread = words == NOTHING
    if unread.any():
        hidden = hidden | unread[:, None]
    return torch.zeros(hidden.shape, dtype=dtype).masked_fill(hidden, -math.inf)
