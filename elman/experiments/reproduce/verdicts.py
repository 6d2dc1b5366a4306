"""Verdicts: compare published and measured figures.

A figure is reproduced if it differs from the published one by at most the row's tolerance. Nats
are compared as perplexities. If our task is smaller than the published one, or one recipe is used
for many cells, the order of the rows is judged instead of the figures, without pairs that differ by
no more than the noise of our seeds. Our own recipes are shown with their difference from the
published figure and are not judged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

_NEAR = 0.1  # relative difference; a figure that is worse by more is "not reached"

REPRODUCED = "reproduced"
BETTER = "better"
WITHIN = "within"
NOT_REACHED = "not reached"
OURS = "ours"
MEASURED = "measured"
OTHER_TEXT = "other text"
ORDER_HOLDS = "order holds"
ORDER_DIFFERS = "order differs"
DIRECTION_HOLDS = "direction holds"  # an order of two rows
DIRECTION_DIFFERS = "direction differs"
NOT_DECIDED = "not decided"  # most pairs of an order are too close
NOT_RUN = "not run"
QUOTED = "quoted"
_IN_BRACKETS = (
    REPRODUCED,
    ORDER_HOLDS,
    ORDER_DIFFERS,
    DIRECTION_HOLDS,
    DIRECTION_DIFFERS,
    NOT_DECIDED,
)
# Quantiles of Student's t-distribution for two-sided tests at 95 %, by degrees of freedom.
_STUDENT = {math.inf: 1.96, 10: 2.23, 6: 2.45, 4: 2.78, 3: 3.18, 2: 4.30, 1: 12.71}


@dataclass(frozen=True)
class Verdict:
    """A kind, one of the words above, and a detail."""

    kind: str
    detail: str = ""

    def __str__(self) -> str:
        if self.kind in (WITHIN, BETTER):
            return f"{self.kind} {self.detail}"
        if self.kind in _IN_BRACKETS and self.detail:
            return f"{self.kind} ({self.detail})"
        return f"{self.kind}: {self.detail}" if self.detail else self.kind


def judge(
    published: float | None, measured: float, *, metric: str, higher_is_better: bool, near: float
) -> Verdict:
    """The verdict on a figure; `near` is the relative difference that counts as reproduced."""
    if published is None:
        return Verdict(OURS)
    if not math.isfinite(measured):
        return Verdict(NOT_REACHED, "infinite")
    distance = _distance(published, measured, metric)
    worse = -distance if higher_is_better else distance
    if abs(distance) <= near:
        return Verdict(REPRODUCED, "" if round(100 * distance, 1) == 0 else _percent(distance))
    if worse < 0:
        return Verdict(BETTER, f"by {_percent(abs(distance), sign=False)}")
    if worse <= _NEAR:
        return Verdict(WITHIN, _percent(abs(distance), sign=False))
    return Verdict(NOT_REACHED, f"{_percent(abs(distance), sign=False)} off")


def describe_ours(published: float | None, measured: float, *, metric: str) -> Verdict:
    """The figure of our own recipe: its difference from the published one, without a judgement."""
    if published is None or not math.isfinite(measured):
        return Verdict(OURS, "" if published is None else "infinite")
    distance = _distance(published, measured, metric)
    side = "above" if distance > 0 else "below"
    return Verdict(OURS, f"{_percent(abs(distance), sign=False)} {side} the published figure")


def _distance(published: float, measured: float, metric: str) -> float:
    """The difference from the published figure, relative to it."""
    if metric == "nats":
        published, measured = math.exp(published), math.exp(min(measured, 700))
    return (measured - published) / published


class Measured(NamedTuple):
    """A figure: the mean over the seeds, their standard deviation, and how many there are."""

    mean: float
    spread: float | None = None  # None: one seed
    seeds: int = 1


def judge_order(
    row: str, published: Mapping[str, float], measured: Mapping[str, Measured], near: float
) -> Verdict:
    """Whether a row is better and worse than the same rows as in the publication.

    Rows whose published figures differ from this one by at most `near` are not counted, because
    their order could be chance. Nor are rows whose measured figures are too close to this one; if
    they are the majority, and the others have the published order, nothing is decided.
    """
    own = published[row]
    others = [
        name
        for name in measured
        if name != row and abs(published[name] - own) > near * max(published[name], own)
    ]
    if not others:
        return Verdict(MEASURED, "an order needs another row")
    decided = [name for name in others if not _are_close(measured[name], measured[row])]
    right = sum(
        (published[name] < own) == (measured[name].mean < measured[row].mean)
        and measured[name].mean != measured[row].mean
        for name in decided
    )
    return _verdict_on_order(right, len(decided) - right, len(others) - len(decided))


def _verdict_on_order(right: int, wrong: int, close: int) -> Verdict:
    """The verdict on an order by its numbers of pairs."""
    if right + wrong + close == 1 and not close:
        return Verdict(DIRECTION_HOLDS if right else DIRECTION_DIFFERS, "1 pair")
    noise = f"{close} within the noise of the seeds"
    if not wrong and close > right:
        return Verdict(NOT_DECIDED, f"{_pairs(right)} as published, {noise}" if right else noise)
    kind = ORDER_DIFFERS if wrong else ORDER_HOLDS
    return Verdict(kind, f"{right} of {_pairs(right + wrong)}" + (f", {noise}" if close else ""))


def _pairs(number: int) -> str:
    return "1 pair" if number == 1 else f"{number} pairs"


def _are_close(one: Measured, other: Measured) -> bool:
    """Whether the means may be the same, by Welch's t-test; figures of one seed never are."""
    if one.spread is None or other.spread is None:
        return False
    errors = [each.spread**2 / each.seeds for each in (one, other)]  # type: ignore[operator]
    total = sum(errors)
    if total == 0:
        return False
    freedom = total**2 / sum(
        error**2 / (each.seeds - 1) for error, each in zip(errors, (one, other), strict=True)
    )
    # Between two degrees of freedom, the quantile is nearly linear in their inverses.
    inverses = [1 / known for known in _STUDENT]
    factor = np.interp(1 / freedom, inverses, [*_STUDENT.values()])
    return bool(abs(one.mean - other.mean) <= factor * math.sqrt(total))


def _percent(share: float, *, sign: bool = True) -> str:
    digits = 2 if abs(share) < 0.001 else 1
    text = f"{100 * share:+.{digits}f}" if sign else f"{100 * share:.{digits}f}"
    return text.replace("-", "−") + " %"
