"""The paired bootstrap: is one model significantly better than another on a text?

Lines are resampled with replacement, the same lines for both models (Koehn 2004). The test uses the
distribution of the difference of the totals.
"""

from dataclasses import dataclass

import numpy as np

_AT_ONCE = 4_000_000  # drawn line numbers held in memory


@dataclass(frozen=True)
class PairedBootstrap:
    """The second model compared with the first."""

    difference: (
        float  # nats of the second minus nats of the first: below zero, the second is better
    )
    low: float  # 95 % of the draws lie between these two
    high: float
    p_value: float  # two-sided: share of draws on the other side of zero
    draws: int


def paired_bootstrap(
    first: np.ndarray, second: np.ndarray, draws: int = 2000, seed: int = 0
) -> PairedBootstrap:
    """Compare two models by their nats per line on the same text."""
    differences = second - first
    differences[np.abs(differences) < 1e-9 * np.abs(first)] = 0.0  # rounding is not a difference
    random = np.random.default_rng(seed)
    lines = len(differences)
    totals = np.empty(draws)
    at_once = max(1, _AT_ONCE // lines)
    for start in range(0, draws, at_once):
        size = min(at_once, draws - start)
        drawn = random.integers(0, lines, (size, lines))
        totals[start : start + size] = differences[drawn].sum(axis=1)
    low, high = np.quantile(totals, [0.025, 0.975])
    # One extra draw on the wrong side: a p-value is never exactly zero.
    other_side = min(np.count_nonzero(totals >= 0), np.count_nonzero(totals <= 0))
    p_value = min(1.0, float(2 * (other_side + 1) / (draws + 1)))
    return PairedBootstrap(float(differences.sum()), float(low), float(high), p_value, draws)
