"""Minimal pairs and suites of sentences under several models: accuracy by paradigm.

Takes trained models and a file, a folder of such files, or `grammar`; gives a `PairScores` per
model; called by `elman minimal-pairs`. A model of tokenized text (`words`) is given sentences with
their marks apart, whoever typed them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from elman.errors import InputError
from elman.evaluation.judgements import Judgement, Score, count, count_by
from elman.evaluation.pairs import JudgedPair, judge_pairs
from elman.evaluation.reading import Progress, silent
from elman.evaluation.suites import JudgedItem, judge_suite
from elman.tasks.language_model import TrainedModel
from elman.text.minimal_pairs import MinimalPair, read_minimal_pairs
from elman.text.reader import Document, read_document
from elman.text.syntax_suites import Condition, Suite, read_suite
from elman.text.tokenizer import Tokenizer

BUILT_IN = "grammar"
_ENDINGS = (".json", ".jsonl", ".json.gz", ".jsonl.gz")
Material = list[MinimalPair] | Suite


@dataclass(frozen=True)
class PairScores:
    """One model's scores."""

    run: str
    overall: Score
    by_paradigm: list[Score]
    by_field: list[Score]
    by_term: list[Score]
    items: list[JudgedPair | JudgedItem]

    def to_data(self, *, items: bool = False) -> dict[str, Any]:
        """Plain data; with `items`, every pair or prediction too."""
        groups = {"paradigms": self.by_paradigm, "fields": self.by_field, "terms": self.by_term}
        data: dict[str, Any] = {"run": self.run, "overall": self.overall.to_data()}
        data |= {name: [score.to_data() for score in scores] for name, scores in groups.items()}
        if items:
            data["items"] = [flat(item) for item in self.items]
        return data


def flat(item: JudgedPair | JudgedItem) -> dict[str, Any]:
    """An item and its judgement as one row."""
    row = {**vars(item), **vars(item.judgement)}
    del row["judgement"]
    return row


def read_material(path: str) -> list[Material]:
    """The pairs and suites of a file, of the files of a folder, or of the built-in language."""
    if path == BUILT_IN and not Path(path).exists():
        from elman.text.agreement_pairs import agreement_pairs

        return [[*agreement_pairs()]]
    if not Path(path).is_dir():
        return [material_of(read_document(path))]
    files = sorted(file for file in Path(path).iterdir() if file.name.endswith(_ENDINGS))
    if not files:
        raise InputError(f"{path}: has no files that end in .jsonl or .json; name one of another")
    return [material_of(read_document(file)) for file in files]


def material_of(document: Document) -> Material:
    """Pairs or a suite, whichever it is."""
    # The object of a suite has lists of items and predictions; a line of pairs is one object.
    if re.search(r'"predictions"\s*:\s*\[', document.text):
        return read_suite(document)
    return read_minimal_pairs(document)


def judge(
    model: TrainedModel,
    materials: Sequence[Material],
    *,
    per_token: bool = False,
    progress: Progress = silent,
) -> PairScores:
    """All of them under one model."""
    items: list[JudgedPair | JudgedItem] = []
    for material in _prepared(materials, model.tokenizer):
        if isinstance(material, Suite):
            items += judge_suite(model.model, model.tokenizer, material, progress=progress)
        else:
            items += judge_pairs(
                model.model, model.tokenizer, material, per_token=per_token, progress=progress
            )
    judgements = [item.judgement for item in items]
    # Of a suite, the judgement of all predictions together would count its items twice.
    single = [one for one, item in zip(judgements, items, strict=True) if not _is_sum(item)]
    return PairScores(
        model.name,
        count("all", single),
        count_by(judgements, lambda one: one.paradigm),
        count_by(judgements, lambda one: one.field),
        count_by(single, _term),
        items,
    )


def _is_sum(item: JudgedPair | JudgedItem) -> bool:
    return isinstance(item, JudgedItem) and item.prediction == "all"


def _term(judgement: Judgement) -> str:
    return judgement.term


def _prepared(materials: Sequence[Material], tokenizer: Tokenizer) -> list[Material]:
    """The same sentences in the form that the training text has."""
    apart = tokenizer.prepare

    def condition_apart(given: Condition) -> Condition:
        return replace(given, regions=tuple(apart(region) for region in given.regions))

    result: list[Material] = []
    for material in materials:
        if isinstance(material, Suite):
            items = tuple(
                replace(item, conditions=tuple(condition_apart(c) for c in item.conditions))
                for item in material.items
            )
            result.append(replace(material, items=items))
        else:
            result.append(
                [replace(pair, good=apart(pair.good), bad=apart(pair.bad)) for pair in material]
            )
    return result
