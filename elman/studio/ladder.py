"""The ladder: what is served and what was trained, in groups that may be compared, best first.

Two values stand in one group only if they were measured on the same text, with the same tokens and
the same measure. Bits per byte, where they are known, can be compared across groups of one text.
Takes runs, gives plain data; called by `/v1/ladder`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from elman.models import MODELS
from elman.studio.served import ServedModel, last_part
from elman.studio.training_runs import TrainingRun
from elman.tasks.task import task_of

_MEASURES = ("perplexity", "error")  # of a validation, both the lower the better


def rungs(models: Iterable[ServedModel], runs: Iterable[TrainingRun]) -> list[dict[str, Any]]:
    """The groups, the largest first."""
    every = [*map(_of_served, models), *(_of_run(run) for run in runs if run.served is None)]
    groups: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row, key, head in filter(None, every):
        groups.setdefault(key, {**head, "rows": []})["rows"].append(row)
    for group in groups.values():
        group["rows"].sort(key=lambda row: (row["value"], row["name"]))
    return sorted(groups.values(), key=lambda group: -len(group["rows"]))


Rung = tuple[dict[str, Any], tuple[Any, ...], dict[str, Any]]


def _of_served(model: ServedModel) -> Rung | None:
    trained = model.trained
    row = {"name": model.id, "served": model.id, "training": False}
    return _rung(row, trained.config.to_data(), trained.facts, model.unit)


def _of_run(run: TrainingRun) -> Rung | None:
    row = {"name": run.name, "served": None, "training": run.is_training}
    return _rung(row, run.config, run.facts, run.unit)


def _rung(
    row: dict[str, Any], config: dict[str, Any], facts: dict[str, Any], unit: str | None
) -> Rung | None:
    """A row, what it may be compared with, and what its group has in common."""
    validation = facts.get("validation") or {}
    measure = next((measure for measure in _MEASURES if measure in validation), None)
    if measure is None or not isinstance(validation[measure], int | float):
        return None
    data, model = facts.get("data") or {}, config.get("model") or {}
    vocabulary = (facts.get("model") or {}).get("vocabulary_size")
    head = {
        "data": last_part(data.get("name")),
        "unit": unit,
        "vocabulary_size": vocabulary,
        "measure": measure,
        "lower_is_better": True,
        "counted": _counted(str(model.get("kind"))),
        "tokens": validation.get("tokens"),
    }
    hashes = tuple(sorted(map(str, (data.get("sha256") or {}).values())))
    split = (config.get("text") or {}).get("split")
    # A network's windows may leave out a few tokens of the text, so their number is not compared.
    key = (hashes, split, unit, vocabulary, measure)
    row = {
        **row,
        "kind": model.get("kind"),
        "recipe": last_part(config.get("recipe")),
        "cell": model.get("cell"),
        "parameters": (facts.get("model") or {}).get("parameters"),
        "seconds": facts.get("seconds"),
        "value": validation[measure],
        "bits_per_byte": _bits_per_byte(validation, data),
    }
    return row, key, head


def _counted(kind: str) -> str:
    """What a validation counts: tokens, words, texts."""
    return task_of(kind).judged if kind in MODELS else "tokens"


def _bits_per_byte(validation: dict[str, Any], data: dict[str, Any]) -> float | None:
    """Of a perplexity per token, on a text whose tokens and bytes are known."""
    tokens, size = data.get("valid_tokens"), data.get("valid_bytes")
    perplexity = validation.get("perplexity")
    if not tokens or not size or not perplexity:
        return None
    return math.log2(perplexity) * tokens / size
