"""Minimal pairs and suites of sentences under several models: accuracy by paradigm.

Takes trained models and a file, a folder of files, or `grammar`; returns a `PairScores` per model;
called by `elman minimal-pairs`. Sentences are prepared for the tokenizer of each model: a model of
tokenized text (`words`) reads them with punctuation split off.

A folder is searched with all its subfolders, so BLiMP works as published. Files without pairs and
lines that are not pairs are skipped and reported.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

from elman.errors import InputError
from elman.evaluation.measures import Progress, silent
from elman.evaluation.pair_accuracy import (
    DIFFERING,
    Score,
    count,
    count_by,
    mean_accuracy,
)
from elman.evaluation.pairs import DIFFERENCE, SENTENCE, JudgedPair, judge_pairs
from elman.evaluation.suites import JudgedItem, judge_suite
from elman.tasks.language_modelling.trained import TrainedModel
from elman.text.minimal_pairs import (
    MinimalPair,
    SkippedLine,
    prepare_pair,
    read_minimal_pairs,
)
from elman.text.reader import Document, read_document
from elman.text.syntax_suites import Condition, Suite, read_suite
from elman.text.tokenizer import Tokenizer

BUILT_IN = "grammar"
_ENDINGS = (".json", ".jsonl", ".json.gz", ".jsonl.gz")
Material = list[MinimalPair] | Suite


@dataclass(frozen=True)
class Materials:
    """All pairs and suites, and the lines and files that were not used."""

    contents: tuple[Material, ...]
    skipped: tuple[SkippedLine, ...] = ()
    passed_over: tuple[str, ...] = ()  # files of the folder without pairs

    @property
    def pairs(self) -> int:
        return sum(len(one) for one in self.contents if not isinstance(one, Suite))

    def to_data(self) -> dict[str, Any]:
        return {
            "lines": self.pairs + len(self.skipped),
            "pairs": self.pairs,
            "skipped": [vars(line) for line in self.skipped],
            "passed_over": list(self.passed_over),
        }


@dataclass(frozen=True)
class PairScores:
    """The scores of one model."""

    run: str
    overall: Score
    paradigm_mean: float | None  # the mean accuracy of the paradigms: the figure of BLiMP
    by_paradigm: list[Score]
    by_field: list[Score]
    by_term: list[Score]
    items: list[JudgedPair | JudgedItem]

    def to_data(self, *, items: bool = False) -> dict[str, Any]:
        """Plain data; with `items`, every pair or prediction too."""
        groups = {"paradigms": self.by_paradigm, "fields": self.by_field, "terms": self.by_term}
        data: dict[str, Any] = {"run": self.run, "overall": self.overall.to_data()}
        data["paradigm_mean"] = self.paradigm_mean
        data |= {name: [score.to_data() for score in scores] for name, scores in groups.items()}
        if items:
            data["items"] = [flat(item) for item in self.items]
        return data


def flat(item: JudgedPair | JudgedItem) -> dict[str, Any]:
    """An item and its judgement as one row."""
    row = {**vars(item), **vars(item.judgement)}
    del row["judgement"]
    return row


def read_materials(path: str) -> Materials:
    """The pairs and suites of a file, a folder with its subfolders, or the built-in language."""
    if path == BUILT_IN and not Path(path).exists():
        from elman.text.minimal_pairs import agreement_pairs

        return Materials(([*agreement_pairs()],))
    if not Path(path).is_dir():
        return materials_of(read_document(path))
    return _read_folder(Path(path))


def materials_of(document: Document) -> Materials:
    """The pairs of a document, or its suite."""
    # The object of a suite has lists of items and predictions; a line of pairs is one object.
    if re.search(r'"predictions"\s*:\s*\[', document.text):
        return Materials((read_suite(document),))
    file = read_minimal_pairs(document)
    return Materials(([*file.pairs],), file.skipped)


def _read_folder(folder: Path) -> Materials:
    contents: list[Material] = []
    skipped: list[SkippedLine] = []
    passed_over: list[str] = []
    for file in _files(folder):
        read = _materials_or_none(file) if file.name.endswith(_ENDINGS) else None
        if read is None:
            passed_over.append(str(file.relative_to(folder)))
        else:
            contents += read.contents
            skipped += read.skipped
    if not contents:
        raise InputError(
            f"{folder}: no minimal pairs found in files that end in .jsonl or .json, plain or .gz; "
            "to read a file with another name, give the file itself"
        )
    return Materials(tuple(contents), tuple(skipped), tuple(passed_over))


def _files(folder: Path, above: frozenset[Path] = frozenset()) -> Iterator[Path]:
    """All files below a folder that are not hidden, in alphabetical order."""
    real = folder.resolve()
    if real in above:  # a link to a folder that contains it
        return
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir():
            yield from _files(path, above | {real})
        elif path.is_file():
            yield path


def _materials_or_none(file: Path) -> Materials | None:
    """The pairs or suite of a file; None for other JSON."""
    document = read_document(file)
    if not re.search(r'"(sentence_good|sentence_bad|predictions)"', document.text):
        return None
    return materials_of(document)


def judge(
    model: TrainedModel,
    materials: Materials,
    *,
    scored: str = SENTENCE,
    exclude_unknown: str = DIFFERING,
    per_token: bool = False,
    progress: Progress = silent,
) -> PairScores:
    """Judge all pairs and suites with one model.

    `scored`: the part of a pair to compare, one of `evaluation.pairs.SCORED`; `exclude_unknown`:
    the items to leave out, one of `evaluation.judgements.EXCLUSIONS`.
    """
    prepared = _prepared(materials.contents, model.tokenizer, critical=scored == DIFFERENCE)
    options: dict[str, Any] = {"exclude_unknown": exclude_unknown, "progress": progress}
    network, tokenizer = model.model, model.tokenizer
    # All pairs at once: shared beginnings are scored only once.
    pairs = [pair for one in prepared if not isinstance(one, Suite) for pair in one]
    options_of_pairs = {"scored": scored, "per_token": per_token, **options}
    judged_pairs = iter(judge_pairs(network, tokenizer, pairs, **options_of_pairs))
    items: list[JudgedPair | JudgedItem] = []
    for one in prepared:
        if isinstance(one, Suite):
            items += judge_suite(network, tokenizer, one, **options)
        else:
            items += [next(judged_pairs) for _ in one]
    return _scores(model.name, items)


def _scores(run: str, items: list[JudgedPair | JudgedItem]) -> PairScores:
    judgements = [item.judgement for item in items]
    # Including the joint judgement "all" of a suite would count its items twice.
    single = [item.judgement for item in items if getattr(item, "prediction", "") != "all"]
    return PairScores(
        run,
        count("all", single),
        mean_accuracy(count_by(single, attrgetter("paradigm"))),
        count_by(judgements, attrgetter("paradigm")),
        count_by(judgements, attrgetter("field")),
        count_by(single, attrgetter("term")),
        items,
    )


def _prepared(
    materials: Sequence[Material], tokenizer: Tokenizer, *, critical: bool
) -> list[Material]:
    """The same sentences in the form of the training text."""
    apart = cache(tokenizer.prepare)  # many sentences are in several pairs

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
            result.append([prepare_pair(pair, apart, critical=critical) for pair in material])
    return result
