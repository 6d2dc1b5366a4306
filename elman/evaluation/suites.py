"""Test suites: which predictions about the surprisal of regions hold for each item.

    surprisal of a region   the sum (or mean, median, range, max, min) over its tokens, in bits
    of a whole sentence     the sum over its regions; the line end does not count

Takes a model, a tokenizer and a suite, gives a `Judgement` per prediction and item. Suites with
several predictions also get a judgement of all of them together. Called by
`tasks/language_modelling/minimal_pairs.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from elman.errors import choose
from elman.evaluation.measures import Progress, silent
from elman.evaluation.pair_accuracy import ANY, DIFFERING, EXCLUSIONS, Judgement
from elman.evaluation.surprisal import Part, part_surprisals
from elman.models.contract import LanguageModel
from elman.text.syntax_suites import Condition, Place, Suite
from elman.text.tokenizer import Tokenizer

_METRICS: dict[str, Callable[[np.ndarray], float]] = {
    "sum": np.sum,
    "mean": np.mean,
    "median": np.median,
    "range": np.ptp,
    "max": np.max,
    "min": np.min,
}
_TERM = "prediction"


@dataclass(frozen=True)
class JudgedItem:
    """A prediction about an item, with its surprisals."""

    item: str
    prediction: str
    surprisals: dict[str, float]  # by place: "(4;%match%)"
    judgement: Judgement


def judge_suite(
    model: LanguageModel,
    tokenizer: Tokenizer,
    suite: Suite,
    *,
    exclude_unknown: str = DIFFERING,
    progress: Progress = silent,
) -> list[JudgedItem]:
    """Judge every prediction about every item; exclude_unknown: one of `EXCLUSIONS`."""
    choose(EXCLUSIONS, exclude_unknown, "way to exclude unknown words")
    used = _used_regions(suite)
    scored = [[_cut(c, used) for c in item.conditions if c.name in used] for item in suite.items]
    sentences = [condition.regions for item in scored for condition in item]
    found = iter(part_surprisals(model, tokenizer, sentences, entropy=False, progress=progress))
    strange = iter(_unknown_tokens(tokenizer, suite))
    judged = []
    for item, conditions in zip(suite.items, scored, strict=True):
        parts = [(condition, next(found)) for condition in conditions]
        unknown = [next(strange) for _ in item.conditions]
        why = any(unknown), _is_excluded(unknown, exclude_unknown)
        surprisals = _surprisals(parts, _METRICS[suite.metric])
        values = []
        for number, formula in enumerate(suite.predictions, 1):
            value = formula.holds(surprisals.__getitem__)
            right, tie = bool(value.value), value.tie
            values.append((right, tie))
            seen = {_written(place): surprisals[place] for place in sorted(formula.places, key=str)}
            judgement = Judgement(_name(suite, number), suite.name, _TERM, right, tie, *why)
            judged.append(JudgedItem(item.name, formula.text, seen, judgement))
        if len(values) > 1:
            right, tie = all(r for r, _ in values), any(t for _, t in values)
            together = Judgement(f"{suite.name}, all predictions", "", _TERM, right, tie, *why)
            judged.append(JudgedItem(item.name, "all", {}, together))
    return judged


def _used_regions(suite: Suite) -> dict[str, int | None]:
    """The last region that the predictions need of each condition; None: all of them."""
    used: dict[str, int | None] = {}
    for formula in suite.predictions:
        for condition, region in formula.places:
            last = used.get(condition, 0)
            used[condition] = None if region is None or last is None else max(last, region)
    return used


def _cut(condition: Condition, used: dict[str, int | None]) -> Condition:
    """The condition without the regions after the last one that is needed."""
    last = used[condition.name]
    if last is None:
        return condition
    kept = [place for place, number in enumerate(condition.numbers) if number <= last]
    end = max(kept, default=-1) + 1
    return replace(condition, regions=condition.regions[:end], numbers=condition.numbers[:end])


def _unknown_tokens(tokenizer: Tokenizer, suite: Suite) -> list[list[str]]:
    """The unknown tokens of every sentence, in alphabetical order; nothing is scored for it."""
    sentences = [c.regions for item in suite.items for c in item.conditions]
    if tokenizer.unknown_id is None:
        return [[] for _ in sentences]
    lines = [
        " ".join(" ".join(region.split()) for region in one if region.strip()) for one in sentences
    ]
    text = "".join(f"{line}\n" for line in lines)
    spans = tokenizer.typed_spans(text)
    ends = np.cumsum([len(line) + 1 for line in lines])
    found: list[list[str]] = [[] for _ in lines]
    for token in np.flatnonzero(spans.ids == tokenizer.unknown_id).tolist():
        owner = int(np.searchsorted(ends, spans.starts[token], side="right"))
        found[owner].append(text[spans.starts[token] : spans.ends[token]].strip())
    return [sorted(tokens) for tokens in found]


def _is_excluded(unknown: list[list[str]], rule: str) -> bool:
    """Whether an item whose sentences have these unknown tokens is excluded."""
    if rule == DIFFERING:
        return any(tokens != unknown[0] for tokens in unknown)
    return rule == ANY and any(unknown)


def _name(suite: Suite, number: int) -> str:
    return f"{suite.name}, {number}" if len(suite.predictions) > 1 else suite.name


def _surprisals(
    rows: list[tuple[Condition, list[Part | None]]], metric: Callable[[np.ndarray], float]
) -> dict[Place, float]:
    """The surprisal of every region in bits; an empty region has 0."""
    result: dict[Place, float] = {}
    for condition, parts in rows:
        for number, part in zip(condition.numbers, parts, strict=True):
            bits = np.array(part.token_surprisals) / math.log(2) if part else np.zeros(1)
            result[condition.name, number] = float(metric(bits))
        # Only used if the condition was not cut.
        whole = sum(result[condition.name, number] for number in condition.numbers)
        result[condition.name, None] = whole
    return result


def _written(place: Place) -> str:
    condition, region = place
    return f"({'*' if region is None else region};%{condition}%)"
