"""Verdicts: compare published and measured figures.

A figure is reproduced if it differs from the published one by at most the row's tolerance. Nats
are compared as perplexities. If our task is smaller than the published one, or one recipe is used
for many cells, the order of the rows is judged instead of the figures. Our own recipes are shown
with their difference from the published figure and are not judged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

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
NOT_RUN = "not run"
QUOTED = "quoted"
_IN_BRACKETS = (REPRODUCED, ORDER_HOLDS, ORDER_DIFFERS, DIRECTION_HOLDS, DIRECTION_DIFFERS)


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


def judge_order(
    row: str, published: Mapping[str, float], measured: Mapping[str, float], near: float
) -> Verdict:
    """Whether a row is better and worse than the same rows as in the publication.

    Rows whose published figures differ from this one by at most `near` are not counted, because
    their order could be chance.
    """
    own = published[row]
    others = [
        name
        for name in measured
        if name != row and abs(published[name] - own) > near * max(published[name], own)
    ]
    if not others:
        return Verdict(MEASURED, "an order needs another row")
    right = sum(
        (published[name] < own) == (measured[name] < measured[row])
        and measured[name] != measured[row]
        for name in others
    )
    if len(others) == 1:
        return Verdict(DIRECTION_HOLDS if right else DIRECTION_DIFFERS, "1 pair")
    kind = ORDER_HOLDS if right == len(others) else ORDER_DIFFERS
    return Verdict(kind, f"{right} of {len(others)} pairs")


def _percent(share: float, *, sign: bool = True) -> str:
    digits = 2 if abs(share) < 0.001 else 1
    text = f"{100 * share:+.{digits}f}" if sign else f"{100 * share:.{digits}f}"
    return text.replace("-", "−") + " %"
