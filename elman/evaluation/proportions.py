"""Proportions: the interval of one, and the exact test between two models on the same items.

Takes counts of right and wrong items; called for minimal pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

NORMAL = 1.959963984540054  # 95 % of a normal distribution lie within ± this


def wilson_interval(right: int, items: int) -> tuple[float, float] | None:
    """The 95 % interval of Wilson (1927); None without items."""
    if not items:
        return None
    share, spread = right / items, NORMAL**2 / items
    middle = (share + spread / 2) / (1 + spread)
    half = NORMAL * math.sqrt(share * (1 - share) / items + spread / items / 4) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True)
class PairedTest:
    """Two models on the same items: who is right where the other is wrong."""

    items: int  # counted for both
    difference: float  # accuracy of the second minus that of the first
    only_first: int  # right only for the first
    only_second: int
    p_value: float  # two-sided, exact


def compare_right(first: np.ndarray, second: np.ndarray) -> PairedTest:
    """McNemar's test with exact binomial probabilities; takes right (True) or wrong per item."""
    only_first = int((first & ~second).sum())
    only_second = int((second & ~first).sum())
    difference = (only_second - only_first) / len(first) if len(first) else 0.0
    return PairedTest(
        len(first), difference, only_first, only_second, sign_test(only_first, only_second)
    )


def sign_test(one: int, other: int) -> float:
    """The two-sided probability of a split at least as uneven, if both sides are equally likely."""
    number, few = one + other, min(one, other)
    logs = np.array(
        [
            math.lgamma(number + 1) - math.lgamma(k + 1) - math.lgamma(number - k + 1)
            for k in range(few + 1)
        ]
    )
    below = float(np.exp(logs - number * math.log(2)).sum())
    return min(1.0, 2 * below)
