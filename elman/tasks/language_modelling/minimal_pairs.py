"""Minimal pairs and suites of sentences under several models: accuracy by paradigm.

Takes trained models and a file, a folder of files, or `grammar`; returns a `PairScores` per model;
called by `elman minimal-pairs`. Sentences are prepared for the tokenizer of each model: a model of
tokenized text (`words`) reads them with punctuation split off.

A folder is searched with all its subfolders, so BLiMP works as published. Files without pairs and
lines that are not pairs are skipped and reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from elman.errors import InputError
from elman.evaluation.measures import Progress, silent
from elman.evaluation.pair_accuracy import (
    DIFFERING,
    Judgement,
    Score,
    count,
    count_by,
    mean_accuracy,
    mean_interval,
)
from elman.evaluation.pairs import DIFFERENCE, SENTENCE, JudgedPair, judge_pairs
from elman.evaluation.prefix_tree import KnownScores
from elman.evaluation.proportions import PairedTest, compare_right
from elman.evaluation.suites import JudgedItem, judge_suite
from elman.notebooks import Table, Tabular, records_table
from elman.tasks.language_modelling.trained import TrainedModel
from elman.text.minimal_pairs import (
    MinimalPair,
    SkippedLine,
    agreement_pairs,
    prepare_pair,
    read_minimal_pairs,
)
from elman.text.pair_tables import is_pair_table, read_gold, read_pair_table
from elman.text.reader import Document, read_document
from elman.text.syntax_suites import Condition, Suite, read_suite
from elman.text.tokenizer import Tokenizer

BUILT_IN = "grammar"
_ENDINGS = (".json", ".jsonl", ".json.gz", ".jsonl.gz")
_TABLES = (".tsv", ".csv", ".tsv.gz", ".csv.gz")
Material = list[MinimalPair] | Suite


@dataclass(frozen=True)
class Materials:
    """All pairs and suites, and the lines and files that were not used."""

    contents: tuple[Material, ...]
    skipped: tuple[SkippedLine, ...] = ()
    passed_over: tuple[str, ...] = ()  # files of the folder without pairs

    def with_prefix(self, *, same: bool) -> Materials:
        """Only the pairs that BLiMP scores by one prefix (`same`), or by two."""
        chosen = [
            [p for p in one if p.critical is not None and p.same_beginning is same]
            for one in self.contents
            if not isinstance(one, Suite)
        ]
        if not any(chosen):
            name = "one" if same else "two"
            raise InputError(f"no pair has the fields of the {name}-prefix method of BLiMP")
        return replace(self, contents=tuple(one for one in chosen if one))

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
class PairScores(Tabular):
    """The scores of one model."""

    run: str
    overall: Score
    paradigm_mean: float | None  # the mean accuracy of the paradigms: the figure of BLiMP
    by_paradigm: list[Score]
    by_field: list[Score]
    by_term: list[Score]
    by_attractors: list[Score]
    items: list[JudgedPair | JudgedItem]
    in_mean: frozenset[str]  # the paradigms in the mean: not those of several predictions together

    @property
    def paradigm_interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the mean over paradigms: items vary, paradigms are given."""
        return mean_interval([s for s in self.by_paradigm if s.name in self.in_mean])

    def as_table(self) -> Table:
        """One row per paradigm, field, term and number of attractors, then all together."""
        groups = {
            "paradigm": self.by_paradigm,
            "field": self.by_field,
            "term": self.by_term,
            "attractors": self.by_attractors,
            "all": [self.overall],
        }
        return records_table(
            [{"group": group} | one.to_data() for group, some in groups.items() for one in some]
        )

    def table_caption(self) -> str:
        """The run."""
        return self.run

    def to_data(self, *, items: bool = False) -> dict[str, Any]:
        """Plain data; with `items`, every pair or prediction too."""
        groups = {
            "paradigms": self.by_paradigm,
            "fields": self.by_field,
            "terms": self.by_term,
            "attractors": self.by_attractors,
        }
        data: dict[str, Any] = {"run": self.run, "overall": self.overall.to_data()}
        data["paradigm_mean"] = self.paradigm_mean
        data["paradigm_mean_low"], data["paradigm_mean_high"] = self.paradigm_interval or (
            None,
            None,
        )
        data |= {name: [score.to_data() for score in scores] for name, scores in groups.items()}
        if items:
            data["items"] = [flat(item) for item in self.items]
        return data


def flat(item: JudgedPair | JudgedItem) -> dict[str, Any]:
    """An item and its judgement as one row."""
    row = {**vars(item), **vars(item.judgement)}
    del row["judgement"]
    return row


def read_materials(path: str, columns: Mapping[str, str] | None = None) -> Materials:
    """The pairs and suites of a file, a folder with its subfolders, or the built-in language.

    `columns` names the columns of a table of pairs.
    """
    if path == BUILT_IN and not Path(path).exists():
        return Materials(([*agreement_pairs()],))
    if columns and Path(path).is_dir():
        raise InputError(
            f"--columns is for a table, and {path} is a folder; give its files one by one"
        )
    if not Path(path).is_dir():
        if (other := _gold_beside(path)) is not None:
            file = read_gold(*map(read_document, other))
            return Materials(([*file.pairs],), file.skipped)
        return materials_of(read_document(path), columns)
    return _read_folder(Path(path))


def _gold_beside(path: str) -> tuple[Path, Path] | None:
    """NAME.text and NAME.gold, if one was given and the other lies beside it."""
    text, gold = Path(path).with_suffix(".text"), Path(path).with_suffix(".gold")
    is_pair = Path(path) in (text, gold) and text.is_file() and gold.is_file()
    return (text, gold) if is_pair else None


def materials_of(document: Document, columns: Mapping[str, str] | None = None) -> Materials:
    """The pairs of a document, or its suite."""
    if columns or is_pair_table(document) or document.name.endswith(_TABLES):
        table = read_pair_table(document, columns or {})
        return Materials(([*table.pairs],), table.skipped)
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
        read = _materials_or_none(file) if file.name.endswith((*_ENDINGS, *_TABLES)) else None
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
    if file.name.endswith(_TABLES):
        return materials_of(document) if is_pair_table(document) else None
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
    known: KnownScores | None = None,
    progress: Progress = silent,
) -> PairScores:
    """Judge all pairs and suites with one model.

    `scored`: the part of a pair to compare, one of `evaluation.pairs.SCORED`; `exclude_unknown`:
    the items to leave out, one of `evaluation.judgements.EXCLUSIONS`; `known`: scores of other
    models, in case they are parts of this one.
    """
    prepared = _prepared(materials.contents, model.tokenizer, critical=scored == DIFFERENCE)
    options: dict[str, Any] = {"exclude_unknown": exclude_unknown, "progress": progress}
    network, tokenizer = model.model, model.tokenizer
    # All pairs at once: shared beginnings are scored only once.
    pairs = [pair for one in prepared if not isinstance(one, Suite) for pair in one]
    options_of_pairs = {"scored": scored, "per_token": per_token, "known": known, **options}
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
        _by_attractors(single),
        items,
        frozenset(judgement.paradigm for judgement in single),
    )


def _by_attractors(judgements: Sequence[Judgement]) -> list[Score]:
    """A score per number of attractors, for judgements that know it."""
    known = sorted((one for one in judgements if one.attractors is not None), key=_attractors)
    return count_by(known, lambda one: str(one.attractors))


def _attractors(judgement: Judgement) -> int:
    return judgement.attractors or 0


def compare_scores(scores: Sequence[PairScores]) -> list[ComparedScores]:
    """Test every run against the first, on the items that are counted for both."""
    first, *others = scores
    return [_compare(first, other) for other in others]


@dataclass(frozen=True)
class ComparedScores:
    """Two runs on the same items: the test of all items, and of each paradigm."""

    first: str
    second: str
    overall: PairedTest
    by_paradigm: dict[str, PairedTest]

    def to_data(self) -> dict[str, Any]:
        return asdict(self)


def _compare(first: PairScores, second: PairScores) -> ComparedScores:
    both = [
        (one.judgement, two.judgement)
        for one, two in zip(first.items, second.items, strict=True)
        if not one.judgement.excluded and not two.judgement.excluded
    ]
    single = [pair for pair in both if pair[0].paradigm in first.in_mean]
    groups: dict[str, list[tuple[Judgement, Judgement]]] = {}
    for pair in both:
        groups.setdefault(pair[0].paradigm, []).append(pair)
    tests = {name: _test(members) for name, members in groups.items()}
    return ComparedScores(first.run, second.run, _test(single), tests)


def _test(pairs: Sequence[tuple[Judgement, Judgement]]) -> PairedTest:
    right = np.array([(one.right, two.right) for one, two in pairs], dtype=bool).reshape(-1, 2)
    return compare_right(right[:, 0], right[:, 1])


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
