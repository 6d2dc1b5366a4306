"""Possible problems in data: skewed or rare labels, sorted files, duplicates, empty and long texts.

Takes an overview, gives one line per problem: what, where, and what to do. Called by
`data_overview.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from elman.tasks.data_kinds import LABELLED, PARALLEL, QUESTIONS, TAGGED, TEXT, UNCLEAR
from elman.tasks.data_overview import DataOverview, SplitOverview, survey_data
from elman.text.reader import Document
from elman.text.tag_schemes import is_scheme

_SKEWED = 0.9  # share of one label
_RARE = 5  # examples of a label
_SORTED = 0.2  # share of the changes of label that a random order would have
_FEWEST = 20  # examples whose order says something
_LONG = {TEXT: 10_000, LABELLED: 1_000, TAGGED: 500, PARALLEL: 100, QUESTIONS: 2_000}  # tokens
_SHOWN = 5  # names in a message
_MANY = 0.01  # share of copies and of unknown characters that is reported
_FEWEST_CHARACTERS = 1000  # of a split whose characters are judged
_MOJIBAKE = re.compile(r"Ã[\x80-\xbf©¤¶¼]|â€[™œ\x9d“”¦]|Â[ °»«]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")


def describe_data(data: str, columns: dict[str, str] | None = None) -> DataOverview:
    """Describe the data of a path or a built-in corpus; `columns`: those of a table, by role."""
    found = survey_data(data, columns)
    return replace(found, warnings=find_problems(found))


def find_problems(found: DataOverview) -> list[str]:
    """One line per problem."""
    first, split = next(iter(found.splits.items()))
    warnings = [
        *_about_labels(found, split, first),
        *_about_order(found),
        *(line for one in found.splits.items() for line in _about_texts(found, *one)),
        *_about_characters(found),
        *(line for document in found.dataset.documents.values() for line in _encoding(document)),
    ]
    return [*dict.fromkeys(warnings)]


def _about_labels(found: DataOverview, train: SplitOverview, name: str) -> Iterator[str]:
    if not train.labels:
        return
    what, items = ("tag", "words") if found.kind == TAGGED else ("label", found.unit)
    label, count = train.labels.most_common(1)[0]
    if len(train.labels) == 1:
        yield f"{name}: there is only one {what}, {label!r}; a model needs at least two"
    elif count > _SKEWED * train.labelled:
        instead = "F1 of spans" if label == "O" and is_scheme(train.labels) else "macro F1"
        share = f"{count / train.labelled:.0%} of the {items}"
        yield (
            f"{name}: {share} have the {what} {label!r}, so a model "
            f"that always predicts it looks good by accuracy; judge by {instead}"
        )
    rare = {label: count for label, count in train.labels.items() if count < _RARE}
    if rare:
        yield (
            f"{name}: {len(rare)} of {len(train.labels)} {what}s have fewer than {_RARE} {items} "
            f"({_names(rare)}); they can hardly be learned"
        )
    for other, split in found.splits.items():
        unseen = Counter({k: n for k, n in split.labels.items() if k not in train.labels})
        if other != name and unseen:
            yield (
                f"{other}: {unseen.total():,} {items} have {what}s that never occur in {name} "
                f"({_names(unseen)}); they always count as wrong"
            )


def _about_order(found: DataOverview) -> Iterator[str]:
    """Whether labels come in blocks."""
    whole = found.dataset.whole
    if found.dataset.lists:
        return
    parts = {"the file": whole} if whole is not None else found.dataset.splits
    for name, examples in parts.items():
        if is_sorted(examples.labels):
            yield (
                f"{name}: the {found.unit} are sorted by label; elman draws them in random order, "
                "but a split by position (text.split=ordered, head, tail) would separate the labels"
            )


def is_sorted(labels: Sequence[str]) -> bool:
    """Whether labels change far less often than in a random order."""
    count = len(labels)
    if count < _FEWEST:
        return False
    same = sum((n / count) ** 2 for n in Counter(labels).values())
    expected = (count - 1) * (1 - same)
    changes = sum(one != other for one, other in pairwise(labels))
    return changes < _SORTED * expected


def _about_texts(found: DataOverview, name: str, split: SplitOverview) -> Iterator[str]:
    unit, count = found.unit, split.examples
    if split.duplicates >= _MANY * count:
        yield f"{name}: {split.duplicates:,} of {count:,} {unit} are copies of earlier ones"
    if split.conflicts:
        yield f"{name}: {split.conflicts:,} {unit} are copies of earlier ones with another label"
    if split.in_train and split.in_train >= _MANY * count:
        yield (
            f"{name}: {split.in_train:,} of {count:,} {unit} are in the training split too; a "
            "result on them says nothing about new data"
        )
    if split.empty and found.kind not in (TEXT, UNCLEAR):
        left = "are not trained on" if found.kind == PARALLEL else "are refused; remove them"
        yield f"{name}: {split.empty:,} of {count:,} {unit} have an empty text and {left}"
    if split.empty_labels:
        yield f"{name}: {split.empty_labels:,} of {count:,} {unit} have no label; they are refused"
    most = _LONG.get(found.kind, _LONG[TEXT])
    for side, counts in split.sides.items():
        if long := int((counts.lengths > most).sum()):
            what = unit if side == "text" else f"{side}s"
            have = f"{what} have" if long > 1 else f"{what.removesuffix('s')} has"
            yield (
                f"{name}: {long:,} {have} more than {most:,} tokens (the longest has "
                f"{counts.lengths.max():,}); {_about_long(found.kind)}"
            )


def _about_long(kind: str) -> str:
    if kind == PARALLEL:
        return "pairs above text.longest are not trained on"
    return "they take much memory and time; split them if you can"


def _about_characters(found: DataOverview) -> Iterator[str]:
    """Another script, or another encoding, than that of the training text."""
    for name, unseen in found.unknown_characters().items():
        total = sum(counts.characters for counts in found.splits[name].sides.values())
        if total >= _FEWEST_CHARACTERS and unseen.total() > _MANY * total:
            shown = _names(character for character, _ in unseen.most_common())
            yield (
                f"{name}: {unseen.total() / total:.0%} of its characters never occur in train "
                f"(such as {shown}); do the splits have the same language and encoding?"
            )


def _encoding(document: Document) -> Iterator[str]:
    """Signs that a file was decoded wrongly before, or contains binary data."""
    text, name = document.text, document.name
    if not text.isascii():
        if lost := text.count("\ufffd"):
            yield f"{name}: {lost:,} characters were lost in an earlier conversion (U+FFFD)"
        if garbled := _MOJIBAKE.findall(text):
            yield (
                f"{name}: {len(garbled):,} characters look like UTF-8 that was read as Latin-1 "
                f"(such as {garbled[0]!r}); convert them from the original again"
            )
    if control := _CONTROL.findall(text):
        yield f"{name}: contains {len(control):,} control characters (such as {control[0]!r})"


def _names(labels: Iterable[str]) -> str:
    every = [*labels]
    return ", ".join(every[:_SHOWN]) + ", …" * (len(every) > _SHOWN)
