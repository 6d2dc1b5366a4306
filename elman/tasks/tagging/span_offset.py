"""Fit how much to lower the score of O, the tag outside of spans, when tags are chosen.

    scores of the words, O lowered by an offset ── best tags ── spans ── F1 on validation

Most words are outside of spans, so a tagger trained on few of them prefers O when in doubt: it
misses spans that it would have found among the next best tags. The offset with the best F1 on
validation corrects this. Probabilities of tags stay as they are. Called by `task.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from elman.text.tag_schemes import find_entities

OFFSETS = tuple(step / 2 for step in range(33))  # nats
_LEAST_GAIN = 0.005  # of F1; a smaller one is noise


def span_f1(right: Sequence[Sequence[str]], guessed: Sequence[Sequence[str]]) -> float:
    """F1 of spans; 1 if there are none and none is predicted."""
    both = [({*find_entities(a)}, {*find_entities(b)}) for a, b in zip(right, guessed, strict=True)]
    wrong = sum(len(true ^ found) for true, found in both)
    spans = sum(len(true) + len(found) for true, found in both)
    return 1 - wrong / spans if spans else 1.0


def fit_offset(
    choose: Callable[[float], Sequence[Sequence[str]]], right: Sequence[Sequence[str]]
) -> dict[str, Any]:
    """Facts about the best offset; `choose`: the tags of all sentences with an offset."""
    found = {offset: span_f1(right, choose(offset)) for offset in OFFSETS}
    best = max(OFFSETS, key=lambda offset: (found[offset], -offset))
    if found[best] < found[0.0] + _LEAST_GAIN:
        best = 0.0
    return {"offset": best, "f1_before": found[0.0], "f1_after": found[best]}


def offset_lines(facts: dict[str, Any]) -> list[str]:
    """The line about the offset at the end of a training, if there is one."""
    found = facts.get("calibration", {})
    if not found.get("offset"):
        return []
    return [
        f"spans: the score of O is lowered by {found['offset']:g} when tags are chosen, F1 "
        f"{found['f1_before']:.4f} → {found['f1_after']:.4f} on {found['examples']:,} validation "
        "sentences"
    ]
