"""Describe a dataset: sizes, lengths, vocabulary, labels and examples.

Takes the value of --data, gives a `DataOverview`; called by `elman data`. Words are counted in one
pass. Their form follows the text (`guess_tokenizer`): words between white space if punctuation is
already separated, words and marks of raw text, or characters if no spaces separate words.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice, repeat
from typing import Any

import numpy as np

from elman.tasks.data_examples import Examples
from elman.tasks.data_kinds import TEXT, UNCLEAR, UNITS, Dataset, read_data
from elman.text import guess_tokenizer
from elman.text.splitting import split_raw

Split = Callable[[str], list[str]]
_SAMPLE = 1_000_000  # characters that decide what a token is
_AT_ONCE = 5_000  # texts counted together
_BETWEEN = "\0"  # between texts that are split together; text files never contain it
_FREQUENT = 10  # words shown
_EXAMPLES = 3
_LONGEST_EXAMPLE = 100  # characters
_FEWEST_WORDS = 5  # of a line whose repetition is reported: short lines repeat in any text
TOKENS = {
    "words": "words between white space",
    "raw-words": "words, numbers and punctuation marks",
    "bpe": "characters, because no spaces separate words",
}


@dataclass
class TextCounts:
    """Counts of texts: the source side of pairs, the passages of questions …"""

    words: Counter[str]
    lengths: np.ndarray  # tokens of each text
    characters: int

    @property
    def tokens(self) -> int:
        return int(self.lengths.sum())

    @property
    def empty(self) -> int:
        return int((self.lengths == 0).sum())

    def quantiles(self) -> dict[str, int]:
        """Median, 95 % quantile and maximum of the lengths of texts that are not empty."""
        there = self.lengths[self.lengths > 0]
        if not len(there):
            return {"median": 0, "p95": 0, "longest": 0}
        median, high = np.quantile(there, [0.5, 0.95], method="higher")
        return {"median": int(median), "p95": int(high), "longest": int(there.max())}

    def unknown_share(self, known: TextCounts) -> float:
        """The share of tokens that another text does not have."""
        unknown = sum(count for word, count in self.words.items() if word not in known.words)
        return unknown / max(self.tokens, 1)


def count_texts(texts: Iterable[Any], split: Split) -> TextCounts:
    """Count texts, or lists of words, block by block."""
    words: Counter[str] = Counter()
    lengths, characters = array("q"), 0
    every = iter(texts)
    while block := [*islice(every, _AT_ONCE)]:
        tokens, of_each = _split_block(block, split)
        words.update(tokens)
        lengths.extend(of_each)
        characters += sum(
            len(text) if isinstance(text, str) else sum(map(len, text)) for text in block
        )
    del words[_BETWEEN]
    return TextCounts(words, np.array(lengths, dtype=np.int64), characters)


def _split_block(block: list[Any], split: Split) -> tuple[list[str], list[int]]:
    """The tokens of a block, perhaps with separators, and how many tokens each text has."""
    if isinstance(block[0], str):
        tokens = split(f" {_BETWEEN} ".join(block))  # one call is faster than many
        ends = [place for place, token in enumerate(tokens) if token == _BETWEEN]
        if len(ends) == len(block) - 1:
            starts = [-1, *ends]
            return tokens, [
                end - start - 1 for start, end in zip(starts, [*ends, len(tokens)], strict=True)
            ]
    rows = [split(text) if isinstance(text, str) else text for text in block]
    return [*chain.from_iterable(rows)], [*map(len, rows)]


@dataclass
class SplitOverview:
    """What a split contains."""

    examples: int
    sides: dict[str, TextCounts]
    labels: Counter[str]  # labels of texts, or tags of words
    labelled: int  # texts or words that could have a label: shares are of them
    empty: int  # examples with an empty side
    empty_labels: int
    duplicates: int  # examples that came before in the split
    conflicts: int  # of them, those with another label than before
    in_train: int  # examples that are in the training split too
    unknown: dict[str, float]  # share of tokens that the training split does not have, by side

    def characters(self) -> Counter[str]:
        """How often each character occurs in its words."""
        found: Counter[str] = Counter()
        for counts in self.sides.values():
            for word, count in counts.words.items():
                for character in word:
                    found[character] += count
        return found

    def to_data(self) -> dict[str, Any]:
        sides = {
            name: {
                "tokens": counts.tokens,
                "characters": counts.characters,
                "vocabulary": len(counts.words),
                "lengths": counts.quantiles(),
                "unknown_share": self.unknown.get(name),
            }
            for name, counts in self.sides.items()
        }
        return {
            "examples": self.examples,
            "empty": self.empty,
            "empty_labels": self.empty_labels,
            "duplicates": self.duplicates,
            "conflicting_labels": self.conflicts,
            "also_in_train": self.in_train,
            "sides": sides,
            "labels": dict(self.labels.most_common()),
        }


@dataclass
class DataOverview:
    """Everything about a dataset."""

    dataset: Dataset
    tokenizer: str  # that fits the text
    splits: dict[str, SplitOverview]
    warnings: list[str]

    @property
    def kind(self) -> str:
        return self.dataset.kind

    @property
    def unit(self) -> str:
        return UNITS[self.kind]

    def frequent_words(self) -> dict[str, list[tuple[str, int]]]:
        """The most frequent words of each side of the first split."""
        first = next(iter(self.splits.values()))
        return {side: counts.words.most_common(_FREQUENT) for side, counts in first.sides.items()}

    def unknown_characters(self) -> dict[str, Counter[str]]:
        """The characters of other splits that the training split never has."""
        if "train" not in self.splits or len(self.splits) == 1:
            return {}
        known = self.splits["train"].characters()
        return {
            name: Counter({one: n for one, n in split.characters().items() if one not in known})
            for name, split in self.splits.items()
            if name != "train"
        }

    def examples(self) -> list[dict[str, str]]:
        """A few examples of the first split, spread over it."""
        examples = next(iter(self.dataset.splits.values()))
        count = len(examples)
        rows = [*dict.fromkeys(count * place // _EXAMPLES for place in range(_EXAMPLES))]
        if self.kind in (TEXT, UNCLEAR):  # lines with text
            lines = examples.columns["text"]
            rows = [*dict.fromkeys(_next_line(lines, row) for row in rows)]
        return [_example(examples, row) for row in rows if row < count]

    def to_data(self) -> dict[str, Any]:
        return {
            "name": self.dataset.name,
            "kind": self.kind,
            "format": self.dataset.format,
            "unit": self.unit,
            "tokenizer": self.tokenizer,
            "tokens_are": TOKENS[self.tokenizer],
            "splits": {name: split.to_data() for name, split in self.splits.items()},
            "sources": {
                name: {"source": document.name, "sha256": document.sha256()}
                for name, document in self.dataset.documents.items()
            },
            "frequent_words": self.frequent_words(),
            "unknown_characters": {
                name: dict(unseen.most_common())
                for name, unseen in self.unknown_characters().items()
            },
            "examples": self.examples(),
            "warnings": self.warnings,
            "notes": self.dataset.notes,
        }


def survey_data(data: str, columns: dict[str, str] | None = None) -> DataOverview:
    """Describe the data of a path or a built-in corpus, without looking for problems."""
    dataset = read_data(str(data), columns)
    tokenizer = guess_tokenizer(_sample(dataset))
    ways: dict[str, Split] = {"words": str.split, "raw-words": split_raw, "bpe": _characters}
    splits: dict[str, SplitOverview] = {}
    seen: dict[int, str] = {}  # examples of the training split, as hashes, with their labels
    fewest = _FEWEST_WORDS if dataset.kind in (TEXT, UNCLEAR) else 1
    for name, examples in dataset.splits.items():  # the training split comes first
        own, before = (seen, {}) if name == "train" else ({}, seen)
        splits[name] = _describe(examples, ways[tokenizer], own, before, fewest)
    train = splits.get("train")
    for name, one in splits.items():
        if train is not None and name != "train":
            one.unknown = {
                side: counts.unknown_share(train.sides[side]) for side, counts in one.sides.items()
            }
    return DataOverview(dataset, tokenizer, splits, [])


def _describe(
    examples: Examples, split: Split, own: dict[int, str], train: dict[int, str], fewest: int
) -> SplitOverview:
    """Count a split; `own` is filled with its examples that have at least `fewest` tokens."""
    sides = {
        # Questions share their passages.
        name: count_texts(dict.fromkeys(column) if name == "passage" else column, split)
        for name, column in examples.columns.items()
    }
    lengths = next(iter(sides.values())).lengths
    labels: Counter[str] = Counter() if examples.several else Counter(examples.labels)
    for of_one in chain(examples.tags, examples.several):
        labels.update(of_one)
    labels.pop("", None)
    duplicates = conflicts = in_train = 0
    of_each = examples.labels or repeat("")
    examined = zip(examples.identities(), lengths.tolist(), of_each, strict=False)
    for identity, length, label in examined:
        if length < fewest:
            continue
        key = hash(identity)
        in_train += key in train
        if key in own:
            duplicates += 1
            conflicts += own[key] != label
        else:
            own[key] = label
    empty = np.zeros(len(examples), dtype=bool)
    for name, counts in sides.items():
        if len(counts.lengths) == len(empty) and name != "answer":
            empty |= counts.lengths == 0
    return SplitOverview(
        examples=len(examples),
        sides=sides,
        labels=labels,
        labelled=len(examples) if examples.several else labels.total(),
        empty=int(empty.sum()),
        empty_labels=examples.empty_labels,
        duplicates=duplicates,
        conflicts=conflicts,
        in_train=in_train,
        unknown={},
    )


def _sample(dataset: Dataset) -> str:
    """Text from the beginning of the first split."""
    found: list[str] = []
    size = 0
    for text in next(iter(next(iter(dataset.splits.values())).columns.values())):
        found.append(text if isinstance(text, str) else " ".join(text))
        size += len(found[-1])
        if size > _SAMPLE:
            break
    return "\n".join(found)


def _characters(text: str) -> list[str]:
    return [*"".join(text.split())]


def _next_line(lines: Sequence[str], row: int) -> int:
    """The first line from here that is not empty."""
    return next((n for n in range(row, len(lines)) if lines[n].strip()), row)


def _example(examples: Examples, row: int) -> dict[str, str]:
    shown = {}
    for name, column in examples.columns.items():
        text = column[row] if isinstance(column[row], str) else " ".join(column[row])
        text = " ".join(text.split())
        shown[name] = text if len(text) <= _LONGEST_EXAMPLE else f"{text[:_LONGEST_EXAMPLE]}…"
    if examples.labels:
        shown["label"] = examples.labels[row]
    if examples.tags:
        tags = " ".join(examples.tags[row])
        shown["tags"] = tags if len(tags) <= _LONGEST_EXAMPLE else f"{tags[:_LONGEST_EXAMPLE]}…"
    return shown
