"""Labelled texts as one list per label: the name of each file is the label of its lines.

    names/Russian.txt           every line is a text with the label Russian
    reviews/train/pos.txt       every line is a training text with the label pos

Takes a folder, gives its texts with their labels, in random order. Called by `corpora.py`, for
classifiers and for language models with `text.labelled`, and by the tasks that look at data first.
Copies within a list are dropped, since they would reach both training and test text: lines read =
texts + lines reported.
"""

from __future__ import annotations

import json
import os
import random
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from elman.errors import InputError
from elman.text import files
from elman.text.label_folders import LabelFolder
from elman.text.reader import Document, read_document
from elman.text.split_names import SPLITS, names_split

_ENDING = ".txt"
_FEWEST = 2  # labels
_FEWEST_CLEAR = 3  # lists that need no other sign of being lists
_LONGEST_NAME = 5  # words of most lines in a list of names or terms
_LINES = 200  # of each list that are looked at
_SAMPLE = 20_000  # characters
_SEED = 0


@dataclass(frozen=True)
class LabelLists:
    """The texts of a folder of lists, each with its label, and what was left out."""

    texts: list[tuple[str, str]]  # (text, label)
    notes: list[str]


def find_label_lists(folder: str | Path) -> dict[str, Path]:
    """The folder of each split, or the folder itself under ""; {} if it has other files."""
    folder = Path(folder)
    try:
        if not os.path.isdir(folder):
            return {}
        if _has_lists(folder):
            return {"": folder}
        inner = [one for one in folder.iterdir() if one.is_dir() and _has_lists(one)]
        named = {split: [one for one in inner if names_split(one, split)] for split in SPLITS}
        found = {split: some[0] for split, some in named.items() if len(some) == 1}
        return found if "train" in found else {}
    except OSError:
        return {}  # opening the folder reports it


def are_clearly_labels(folder: str | Path) -> bool:
    """Whether a folder has lists of names or terms, rather than several running texts."""
    found = find_label_lists(folder).get("")
    if found is None:
        return False
    lists = _lists(found)
    if len(lists) < _FEWEST_CLEAR:
        return False
    return median(words for path in lists for words in _lengths(path) or [0]) <= _LONGEST_NAME


def read_label_lists(folder: Path) -> LabelLists:
    """The texts of a folder; empty lines and copies within a list are left out and counted."""
    documents = [(path.stem, read_document(path)) for path in _lists(folder)]
    texts = [
        (text, label)
        for label, document in documents
        for text in dict.fromkeys(line.strip() for line in document.text.splitlines())
        if text
    ]
    if not documents:
        raise InputError(f"{folder}: has no .txt files; text.labelled=true needs one list per file")
    random.Random(_SEED).shuffle(texts)  # otherwise they would be sorted by label
    read = sum(document.lines for _, document in documents)
    notes = [note for _, document in documents for note in document.notes]
    notes.append(
        f"{len(documents)} lists with {read:,} lines, {read - len(texts):,} of them duplicates or "
        "empty; each label is the name of a list"
    )
    return LabelLists(texts, notes)


def as_rows(folder: Path) -> LabelFolder:
    """The texts of a folder as JSON lines with a text and its label each."""
    found = read_label_lists(folder)
    rows = [
        json.dumps({"text": text, "label": label}, ensure_ascii=False)
        for text, label in found.texts
    ]
    return LabelFolder(str(folder), "".join(f"{row}\n" for row in rows), found.notes)


def as_lines(folder: Path) -> Document:
    """The texts of a folder as lines that begin with their label: `Russian: Ivanov`."""
    found = read_label_lists(folder)
    text = "".join(f"{label}: {text}\n" for text, label in found.texts)
    return Document(str(folder), text, found.notes)


def _has_lists(folder: Path) -> bool:
    some = files.local_files(folder)
    named = any(names_split(one, split) for one in some for split in SPLITS)
    return not named and len(some) >= _FEWEST and all(one.suffix == _ENDING for one in some)


def _lists(folder: Path) -> list[Path]:
    return sorted(path for path in files.local_files(folder) if path.suffix == _ENDING)


def _lengths(path: Path) -> list[int]:
    """The numbers of words in the first lines of a file."""
    with open(path, encoding="utf-8", errors="replace") as stream:
        lines = stream.read(_SAMPLE).splitlines()[:_LINES]
    return [len(line.split()) for line in lines if line.strip()]
