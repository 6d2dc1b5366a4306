"""A linear support vector machine over sparse features: one weight per feature and label.

    bags of features, their labels, weights of texts ── L-BFGS ── weights (columns, K), bias (K,)

For every label, y = 1 for the texts that have it and -1 for the others. Over the texts i, the fit
minimises, like LinearSVC of scikit-learn (Fan et al. 2008),

    |w|² / 2 + b² / 2 + cost Σ_i weight_i max(0, 1 - y_i (x_i · w + b))²

This is convex, so the result depends on neither a seed nor a learning rate. Called by
`ngram_scores.py`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np
import torch
from torch.nn.functional import embedding_bag

_MOST_STEPS = 100
_ENOUGH = 0.001  # of the first gradient, which ends the search
_CHECKED = 5  # steps until time and gradient are looked at
_REMEMBERED = 8  # steps from which L-BFGS estimates the curvature
_MOST_WEIGHTS = 4_000_000  # fitted at once; more labels are fitted in groups


class Bags:
    """Rows of a sparse matrix: the features of a text are a bag, multiplied by a scale.

    The entry of row i and column j is row_scale_i · column_scale_j, times how often j is in bag i.
    """

    def __init__(
        self,
        columns: torch.Tensor,
        starts: torch.Tensor,
        row_scales: torch.Tensor,
        column_scales: torch.Tensor,
    ) -> None:
        """`columns`: of all features, bag by bag; `starts`: where each bag begins."""
        counts = torch.bincount(columns, minlength=len(column_scales))
        self.used = torch.nonzero(counts)[:, 0]  # the columns that occur
        numbers = torch.zeros(len(column_scales), dtype=torch.int32)
        numbers[self.used] = torch.arange(len(self.used), dtype=torch.int32)
        self.columns, self.starts = numbers[columns], starts.int()
        self.row_scales = row_scales.unsqueeze(1)
        self.column_scales = column_scales[self.used].unsqueeze(1)
        self._rows, self._row_starts = self._transposed(counts[self.used])

    def _transposed(self, counts: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The row of every feature, column by column, and where each column begins."""
        lengths = torch.diff(self.starts, append=torch.tensor([len(self.columns)]))
        rows = torch.repeat_interleave(torch.arange(len(lengths), dtype=torch.int32), lengths)
        # Numbers of 16 bits are sorted in one pass.
        small = self.columns.numpy().astype(np.uint16 if len(counts) <= 1 << 16 else np.int32)
        order = torch.from_numpy(np.argsort(small, kind="stable"))
        return rows[order], (counts.cumsum(0) - counts).int()

    def squares(self) -> torch.Tensor:
        """The squared length of every used column, (columns, 1); without repeated features."""
        sums = embedding_bag(self._rows, self.row_scales.square(), self._row_starts, mode="sum")
        return sums * self.column_scales.square()

    def times(self, weights: torch.Tensor) -> torch.Tensor:
        """The matrix times weights (used columns, K)."""
        sums = embedding_bag(self.columns, weights * self.column_scales, self.starts, mode="sum")
        return sums * self.row_scales

    def transposed_times(self, errors: torch.Tensor) -> torch.Tensor:
        """The transposed matrix times errors (rows, K)."""
        sums = embedding_bag(self._rows, errors * self.row_scales, self._row_starts, mode="sum")
        return sums * self.column_scales


def fit_support_vectors(
    parts: Sequence[Bags],
    labels: torch.Tensor,
    cost: float,
    *,
    weights: torch.Tensor | None = None,
    seconds: float = math.inf,
) -> tuple[list[torch.Tensor], torch.Tensor]:
    """The weights of the used columns of each part, (columns, K), and the bias (K,).

    `parts`: the bags of the same texts; their scores are added. `labels` (texts, K): 1 or 0.
    `weights`: of the texts. After `seconds`, the weights found so far are returned.
    """
    costs = torch.full((len(labels), 1), cost)
    if weights is not None:
        costs *= weights.unsqueeze(1)
    width = sum(len(part.used) for part in parts) + 1
    groups = torch.split(2.0 * labels - 1.0, max(1, _MOST_WEIGHTS // width), dim=1)
    until = time.monotonic() + seconds
    found = []
    for number, signs in enumerate(groups):
        left = (until - time.monotonic()) / (len(groups) - number)
        found.append(_Fit(parts, signs, costs, time.monotonic() + left).weights())
    sizes = [*(len(part.used) for part in parts), 1]
    *each, bias = torch.split(torch.cat(found, 1), sizes)
    return each, bias[0]


class _Fit:
    """The search for the weights of a group of labels."""

    def __init__(
        self, parts: Sequence[Bags], signs: torch.Tensor, costs: torch.Tensor, until: float
    ) -> None:
        self.parts, self.signs, self.costs, self.until = parts, signs, costs, until
        self.sizes = [*(len(part.used) for part in parts), 1]
        self.found = torch.zeros(sum(self.sizes), signs.shape[1], requires_grad=True)
        # Each weight is searched in units of its curvature: frequent features have steep slopes.
        squares = [*(part.squares() for part in parts), torch.full((1, 1), float(len(signs)))]
        self.units = (1 + 2 * costs.mean() * torch.cat(squares)).rsqrt()

    def weights(self) -> torch.Tensor:
        """The weights of all parts, and the bias in the last row."""
        search = torch.optim.LBFGS(
            [self.found],
            max_iter=_CHECKED,
            history_size=_REMEMBERED,
            tolerance_grad=0.0,
            tolerance_change=0.0,
            line_search_fn="strong_wolfe",
        )
        self._loss()
        enough = _ENOUGH * self._slope()
        for _ in range(0, _MOST_STEPS, _CHECKED):
            if self._slope() <= enough or time.monotonic() > self.until:
                break
            search.step(self._loss)  # type: ignore[no-untyped-call]
        return (self.found * self.units).detach()

    def _slope(self) -> float:
        """The length of the gradient."""
        assert self.found.grad is not None
        return float(self.found.grad.norm())

    @torch.no_grad()
    def _loss(self) -> float:
        """What is minimised; the gradient is left in `found.grad`."""
        every = self.found * self.units
        *weights, bias = torch.split(every, self.sizes)
        scores = bias + sum(
            part.times(some) for part, some in zip(self.parts, weights, strict=True)
        )
        missing = (1 - self.signs * scores).clamp(min=0)
        errors = -2 * self.costs * self.signs * missing
        slopes = [part.transposed_times(errors) for part in self.parts]
        slope = torch.cat([*slopes, errors.sum(0, keepdim=True)]) + every
        self.found.grad = slope * self.units
        return float(every.square().sum() / 2 + (self.costs * missing.square()).sum())
