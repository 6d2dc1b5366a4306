"""Labelled texts as one folder per label and one file per text.

    reviews/train/pos/12.txt        a training text with the label pos
    reviews/test/neg/7.txt          a test text with the label neg
    news/sport/0001                 without splits: a text with the label sport

Takes a folder, gives a document of JSON lines with a text and its label each; called by
`corpora.py`, so every reader of tables reads such folders too. Files without text and files that
cannot be read are left out and counted: files = texts + files reported.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from elman.errors import InputError
from elman.text import files
from elman.text.reader import Document, Reading
from elman.text.split_names import SPLITS, names_split

_FEWEST_LABELS = 2
_UNLABELLED = ("unsup", "unsupervised", "unlabeled", "unlabelled")  # folders without labels
_RUN = "manifest.json"  # a folder with this file is a run
_SHOWN = 5  # names in a message
_SEED = 0


class LabelFolder(Document):
    """The texts of a folder with one folder per label, as JSON lines in random order."""

    has_known_columns = True


def find_label_folders(folder: str | Path) -> dict[str, Path]:
    """The folder of each split, or the folder itself under ""; {} if it has another layout.

    Files win: a folder with a single file, or with files named train, valid or test, is not one of
    label folders.
    """
    folder = Path(folder)
    try:
        if not os.path.isdir(folder) or _has_data_files(folder):
            return {}
        splits = {split: _of_split(folder, split) for split in SPLITS}
        if any(_has_labels(one) for some in splits.values() for one in some):
            return {split: _only(folder, split, some) for split, some in splits.items() if some}
        named = any(names_split(one, split) for one in _inner(folder) for split in SPLITS)
        return {"": folder} if _has_labels(folder) and not named else {}
    except OSError:
        return {}  # opening the folder reports it


def read_label_folder(folder: Path) -> LabelFolder:
    """The texts of the folders inside a folder, each with the name of its folder as label."""
    found = _Found()
    labels = [*_label_folders(folder)]
    for one in labels:
        found.read(one)
    if not found.rows:
        why = f" ({found.first_reason})" if found.first_reason else ""
        raise InputError(
            f"{folder}: has folders ({_names([one.name for one in labels])}) but no text in their "
            f"files{why}; give text files in one folder per label"
        )
    random.Random(_SEED).shuffle(found.rows)  # otherwise they would be sorted by label
    others = [one.name for one in _inner(folder) if one not in labels]
    notes = [f"{folder}: {note}" for note in found.notes([one.name for one in labels], others)]
    return LabelFolder(str(folder), "".join(f"{row}\n" for row in found.rows), notes)


def _has_data_files(folder: Path) -> bool:
    some = files.local_files(folder)
    return len(some) == 1 or any(names_split(one, split) for one in some for split in SPLITS)


def _of_split(folder: Path, split: str) -> list[Path]:
    """The folders of a split; one of them may have a single label."""
    return [one for one in _inner(folder) if names_split(one, split) and any(_label_folders(one))]


def _only(folder: Path, split: str, some: Sequence[Path]) -> Path:
    if len(some) > 1:
        raise InputError(
            f"{folder}: several folders could be the {split} texts "
            f"({_names([one.name for one in some])}); keep one of them"
        )
    return some[0]


def _has_labels(folder: Path) -> bool:
    return len([*_label_folders(folder)]) >= _FEWEST_LABELS


def _label_folders(folder: Path) -> Iterator[Path]:
    """The folders inside a folder that directly hold files and whose names are labels."""
    for one in _inner(folder):
        names = [file.name for file in files.local_files(one)]
        if names and _RUN not in names and one.name.lower() not in _UNLABELLED:
            yield one


def _inner(folder: Path) -> list[Path]:
    return sorted(
        one for one in folder.iterdir() if one.is_dir() and not one.name.startswith((".", "__"))
    )


@dataclass
class _Found:
    """The texts so far, and the files and folders that were left out."""

    rows: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    first_reason: str = ""  # why the first unreadable file was left out
    inner: list[str] = field(default_factory=list)
    changed: int = 0  # files with a byte order mark or Windows line ends

    def read(self, folder: Path) -> None:
        """Add the texts of one label."""
        self.inner += [f"{folder.name}/{one.name}" for one in _inner(folder)]
        for file in files.local_files(folder):
            try:
                self._add(file, folder.name)
            except InputError as error:
                self.first_reason = self.first_reason or str(error)
                self.unreadable.append(f"{folder.name}/{file.name}")

    def _add(self, file: Path, label: str) -> None:
        reading = Reading(str(file))
        with files.opened(str(file)) as stream:
            text = "".join(reading.blocks(stream)).strip()
        if not reading.has_text:
            self.empty.append(f"{label}/{file.name}")
            return
        self.changed += bool(reading.notes())
        self.rows.append(json.dumps({"text": text, "label": label}, ensure_ascii=False))

    def notes(self, labels: Sequence[str], others: Sequence[str]) -> list[str]:
        """What was read and what was left out."""
        notes = [
            f"{len(self.rows):,} texts, one per file; the labels are the names of the "
            f"{len(labels)} folders ({_names(labels)})"
        ]
        if self.changed:
            have = "file has" if self.changed == 1 else "files have"
            notes.append(f"{self.changed:,} {have} a byte order mark or Windows line ends")
        if self.empty:
            notes.append(f"left out: {_count(self.empty, 'file')} without text")
        if self.unreadable:
            notes.append(
                f"left out: {_count(self.unreadable, 'file')} that cannot be read; the first: "
                f"{self.first_reason}"
            )
        if self.inner:
            notes.append(f"not read: {_count(self.inner, 'folder')} inside the folders of labels")
        if others:
            notes.append(f"not read: {_count(others, 'folder')} without a label or without files")
        return notes


def _count(names: Sequence[str], what: str) -> str:
    """`3 files (pos/1.txt, …)`."""
    return f"{len(names):,} {what}{'s' * (len(names) > 1)} ({_names(names)})"


def _names(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")
