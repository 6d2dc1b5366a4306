"""Draw ids from unnormalised weights, one per row, with few passes over the vocabulary.

Takes scores (B, V), log probabilities up to a constant per row, and one uniform number per row.
Weights are exp(score), so nothing needs to sum to one: a transform sets the weights that it drops
to zero, and `draw_id` scales the uniform number by the sum of the rest. Every row is computed on
its own: its id does not depend on the other rows.

The options that need all log probabilities (penalties, biases, forced tokens, softmax sampling)
take the general path through `distribution.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from elman.decoding.options import DecodingOptions
from elman.decoding.transforms import ROUNDING

_QUICK = {"temperature", "top-k", "top-p", "min-p"}


class QuickDraw:
    """Draws with the options that need no log probabilities."""

    def __init__(self, options: DecodingOptions) -> None:
        self._options = options
        self._transforms = options.transforms()
        self._greedy = self._transforms == {"top-k": 1}
        known = self._transforms.keys() <= _QUICK
        self._usable = known and not (options.penalises or options.logit_bias)

    def ids(self, scores: torch.Tensor, step: int, uniforms: Sequence[float]) -> list[int] | None:
        """The next id of each row; None if the options or the numbers need the general path."""
        options = self._options
        if not self._usable or step < len(options.forced):
            return None
        banned = [*options.banned, *(options.stop_ids if step < options.min_tokens else ())]
        if self._greedy:
            return _greedy_ids(scores, banned)
        tau = self._transforms.get("temperature", 1)
        weights = (scores if tau == 1 else scores / tau).softmax(dim=-1).numpy()  # (B, V)
        if banned:
            weights[:, banned] = 0
        self._drop(weights)
        return draw_ids(weights, uniforms)

    def _drop(self, weights: np.ndarray) -> None:
        """Set the weights (B, V) that the transforms drop to zero."""
        transforms = self._transforms
        if "top-k" in transforms:
            _keep_top_k(weights, int(transforms["top-k"]))
        if transforms.get("top-p", 1) < 1:
            _keep_top_p(weights, transforms["top-p"])
        if "min-p" in transforms:
            edges = weights.max(axis=1, keepdims=True) * (transforms["min-p"] * (1 - ROUNDING))
            weights *= weights >= edges


def draw_ids(weights: np.ndarray, uniforms: Sequence[float]) -> list[int] | None:
    """The id where the cumulative weight passes the row's share of the sum; None if a sum is no
    positive number.

    (B, V) and B numbers in [0, 1) -> B ids. An id of weight zero is never drawn, because the sum
    does not rise there. A number that rounding puts at the very end gets the last possible id.
    The sums of blocks say in which block it lies, so that only one block is added up id by id.
    """
    rows, size = weights.shape
    width = max(1, round(size**0.5))
    whole = size // width * width
    sums = weights[:, :whole].reshape(rows, -1, width).sum(axis=2)  # a view, not a copy
    if whole < size:
        sums = np.concatenate([sums, weights[:, whole:].sum(axis=1, keepdims=True)], axis=1)
    cumulative = sums.cumsum(axis=1, dtype=np.float64)  # (B, blocks)
    total = cumulative[:, -1:]
    if not ((total > 0) & (total < np.inf)).all():
        return None
    if rows == 1:
        return [_draw_id(weights[0], cumulative[0], uniforms[0], width)]
    targets = np.array(uniforms)[:, None] * total  # (B, 1)
    blocks = _passed(cumulative, targets)  # (B, 1)
    before = np.take_along_axis(cumulative, np.maximum(blocks - 1, 0), axis=1) * (blocks > 0)
    places = blocks * width + np.arange(width)  # (B, width)
    inside = np.take_along_axis(weights, np.minimum(places, size - 1), axis=1)
    inside = np.where(places < size, inside, 0).cumsum(axis=1, dtype=np.float64)
    ids = blocks * width + _passed(inside, targets - before)
    return ids[:, 0].tolist()


def _draw_id(weights: np.ndarray, cumulative: np.ndarray, uniform: float, width: int) -> int:
    """The same for one row (V,) and the cumulative sums of its blocks, with fewer calls."""

    def passed(sums: np.ndarray, target: float) -> int:
        return min(int(sums.searchsorted(target, "right")), int(sums.searchsorted(sums[-1])))

    target = uniform * float(cumulative[-1])
    block = passed(cumulative, target)
    before = float(cumulative[block - 1]) if block else 0.0
    inside = weights[block * width : (block + 1) * width].cumsum(dtype=np.float64)
    return block * width + passed(inside, target - before)


def _passed(cumulative: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Where the sum first passes its target, at the latest where it reaches its end, (B, 1)."""
    passed = (cumulative <= targets).sum(axis=1, keepdims=True)
    last_possible = (cumulative < cumulative[:, -1:]).sum(axis=1, keepdims=True)
    return np.minimum(passed, last_possible)


def _greedy_ids(scores: torch.Tensor, banned: list[int]) -> list[int] | None:
    """The largest score of each row; ties go to the first. None if that one is banned or broken."""
    values = scores.numpy()
    best = values.argmax(axis=1)
    if not np.isfinite(values[np.arange(len(values)), best]).all():
        return None
    ids: list[int] = best.tolist()
    return None if not set(banned).isdisjoint(ids) else ids


def _keep_top_k(weights: np.ndarray, count: int) -> None:
    """Set all but the `count` largest weights of each row to zero."""
    size = weights.shape[1]
    if count >= size:
        return
    # The smallest of the kept weights, and the largest of the others before it.
    split = np.partition(weights, [size - count - 1, size - count], axis=1)
    edges = split[:, size - count, None]
    _keep(weights, edges, np.full(len(weights), count), split[:, size - count - 1] == edges[:, 0])


def _keep_top_p(weights: np.ndarray, share: float) -> None:
    """Keep the fewest largest weights of each row whose sum reaches this share of all."""
    ranked = np.sort(weights, axis=1)[:, ::-1]  # numpy sorts numbers ten times as fast as torch
    reached = ranked.cumsum(axis=1, dtype=np.float64)
    needed = share * (1 - ROUNDING) * reached[:, -1:]
    counts = 1 + (reached[:, :-1] < needed).sum(axis=1)  # as many as were not enough, and one more
    rows = np.arange(len(weights))
    edges = ranked[rows, counts - 1][:, None]
    following = ranked[rows, np.minimum(counts, ranked.shape[1] - 1)]
    _keep(weights, edges, counts, (following == edges[:, 0]) & (counts < ranked.shape[1]))


def _keep(weights: np.ndarray, edges: np.ndarray, counts: np.ndarray, tied: np.ndarray) -> None:
    """Keep the `counts` largest weights, the last of which are `edges`; ties go to the first."""
    weights *= weights >= edges
    for row in np.flatnonzero(tied & (edges[:, 0] > 0)):
        equal = np.flatnonzero(weights[row] == edges[row, 0])
        above = np.count_nonzero(weights[row] > edges[row, 0])
        weights[row, equal[counts[row] - above :]] = 0
