"""Where training and test text comes from: a file, a folder, or a corpus inside the package.

Takes a path or a name, gives a `Corpus` of documents named train, valid and test. A folder may hold
several sets: `films/binary` opens `films/binary.train`, `films/binary.dev`, `films/binary.test`.
"""

from __future__ import annotations

import os
import random
import re
import zlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import ClassVar, NamedTuple

from elman.config import apply_overrides, build
from elman.errors import InputError, choose, nearest
from elman.registry import Registry
from elman.text import files, records
from elman.text.label_folders import find_label_folders, read_label_folder
from elman.text.label_lists import as_lines, as_rows, find_label_lists
from elman.text.reader import Document, read_document
from elman.text.split_names import SPLITS, names_split

CORPORA = Registry(
    "corpus",
    {
        "grammar": "elman.text.grammar:GrammarCorpus",
        "python-docs": "elman.text.python_docs:PythonDocs",
        "arithmetic": "elman.text.recall:Arithmetic",
        "xml": "elman.text.recall:Xml",
        "copy": "elman.text.rewriting:Copy",
        "reverse": "elman.text.rewriting:Reverse",
        "sort": "elman.text.rewriting:Sort",
        "number-words": "elman.text.rewriting:NumberWords",
        "tickets": "elman.text.recall:Tickets",
    },
    group="corpora",
)
# One file is split in order: nine tenths for training, a twentieth each for validation and test.
_SPLIT_ENDS = (0.90, 0.95, 1.0)
_FEWEST_LINES = 40  # a file with fewer lines is split between words instead of between lines


@dataclass
class Corpus:
    """Documents by split; `whole` when one file was split automatically."""

    name: str
    documents: dict[str, Document]
    whole: Document | None = None
    notes: list[str] = field(default_factory=list)

    def all_notes(self) -> list[str]:
        """Everything that was noted, once the documents have been read."""
        of_documents = [note for one in self.documents.values() for note in one.notes]
        large = self.whole.notes if self.whole is not None and self.whole.is_large else []
        return [*dict.fromkeys([*self.notes, *of_documents, *large])]

    def split(self, name: str) -> Document:
        """The document of a split, or an error that lists the splits."""
        if name not in self.documents:
            there = ", ".join(self.documents)
            remedy = "choose another --split"
            if name in SPLITS and self.whole is None:
                remedy = f"name a file *{name}* in the folder, or {remedy}"
            raise InputError(f"{self.name}: has no {name!r} split, only {there}; {remedy}")
        return self.documents[name]


def open_corpus(data: str, *, labelled: bool = False, label_folders: bool = False) -> Corpus:
    """Open a corpus by name or path.

    `labelled`: lines of a folder of lists begin with the name of their list (`label_lists.py`).
    `label_folders`: one folder or list per label may be read, as JSON lines.
    """
    if not data:
        raise InputError("--data is empty; name a text file, a folder or a built-in corpus")
    if labelled and os.path.isdir(data):
        return split_document(as_lines(Path(data)))
    if data == files.STANDARD_INPUT:
        return split_document(read_document(data))
    path = Path(data)
    if data in CORPORA or (data.partition(":")[0] in CORPORA and not os.path.exists(path)):
        return _open_built_in(data)
    if os.path.isdir(path):  # unlike Path.is_dir, accepts names that are too long for a file
        return (_open_labels(path) if label_folders else None) or _open_folder(path)
    if not os.path.exists(path):
        if some := files_of_set(path):
            return _open_files(str(path), some)
        raise no_such_data(data)
    return split_document(open_document(path))


def no_such_data(data: str) -> InputError:
    """The error for data that does not exist."""
    if files.is_pattern(data):
        return InputError(f"{data}: no file matches; check the folder and the pattern")
    return InputError(f"{data}: no such file, folder or built-in corpus ({nearest(data, CORPORA)})")


def open_document(path: str | os.PathLike[str]) -> Document:
    """The text of a file; a Parquet or Arrow file as JSON lines."""
    location = os.fspath(path)
    form = records.format_of(location)
    if form not in records.BINARY:
        return read_document(location)
    text = records.read_rows_as_json(location, form)
    return Document(location, text, [f"{form}, {text.count(chr(10)):,} rows"])


@cache
def _open_built_in(name: str) -> Corpus:
    """A built-in corpus from its name, like `arithmetic` or `arithmetic:digits=3,lines=5000`."""
    corpus, _, settings = name.partition(":")
    kind = CORPORA[corpus]
    words = [word for word in settings.split(",") if word]
    if words and not fields(kind):
        raise InputError(f"{name}: {corpus} has no settings; write --data {corpus}")
    if not all("=" in word for word in words):
        raise InputError(f"{name}: write settings as {corpus}:key=value,key=value")
    built_in: BuiltInCorpus = build(kind, apply_overrides({}, words), corpus)
    documents = {split: Document(f"{name} ({split})", built_in.text(split)) for split in SPLITS}
    return Corpus(name, documents, notes=[built_in.details()])


def _open_folder(folder: Path) -> Corpus:
    try:
        some = files.local_files(folder)
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({error.strerror})") from None
    return _open_files(str(folder), some)


def _open_labels(folder: Path) -> Corpus | None:
    """One folder or one list per label; None if the folder has another layout."""
    for find, read in ((find_label_folders, read_label_folder), (find_label_lists, as_rows)):
        if found := find(folder):
            if "" in found:
                return split_document(read(folder))
            return Corpus(str(folder), {split: read(one) for split, one in found.items()})
    return None


def files_of_set(path: Path) -> list[Path]:
    """The splits whose file names begin with the name of a path and a separator."""
    try:
        begun = [file for file in files.local_files(path.parent) if file.name.startswith(path.name)]
    except OSError:
        return []
    return [
        file
        for file in begun
        if not file.name[len(path.name)].isalnum()
        and any(names_split(Path(file.name[len(path.name) :]), split) for split in SPLITS)
    ]


def no_files(folder: str) -> InputError:
    """The error for a folder without files."""
    inner = sorted(one.name for one in Path(folder).iterdir()) if os.path.isdir(folder) else []
    if not inner:
        return InputError(f"{folder}: is empty; give a folder with text files")
    names = ", ".join(inner[:5]) + (" …" if len(inner) > 5 else "")
    return InputError(
        f"{folder}: has no files, only folders ({names}), and none of them is named train, valid "
        "or test; give one of these folders, or a pattern for the files of all of them "
        f"('{folder}/*/*'). Labelled texts need one folder per label, or a table"
    )


def _open_files(name: str, some: list[Path]) -> Corpus:
    found = {split: [path for path in some if names_split(path, split)] for split in SPLITS}
    if not found["train"] and not found["test"] and not found["valid"]:
        if len(some) == 1:
            return split_document(open_document(some[0]))
        if not some:
            raise no_files(name)
        raise InputError(
            f"{name}: no file is named train, valid or test; name the files so "
            "(ptb.train.txt, train.txt, …) or give one text file"
        )
    for split, paths in found.items():
        if len(paths) > 1:
            names = ", ".join(path.name for path in paths)
            raise InputError(
                f"{name}: several files could be the {split} text ({names}); "
                "give one file, or a folder with one of each"
            )
    documents = {split: open_document(paths[0]) for split, paths in found.items() if paths}
    return Corpus(name, documents)


def split_document(document: Document) -> Corpus:
    """Split one file into train, valid and test text, in this order."""
    by_lines = document.lines >= _FEWEST_LINES
    ends = _ends_of_lines(document.text) if by_lines else _ends_of_words(document.text)
    documents = {}
    start = 0
    for split, end in zip(SPLITS, ends, strict=True):
        text = document.text[start:end]
        if text.strip():
            documents[split] = Document(f"{document.name} ({split})", text)
        start = end
    unit = "lines" if by_lines else "the text, split between words,"
    note = f"no splits: the first 90 % of {unit} are train, then 5 % valid, 5 % test"
    if missing := [split for split in SPLITS if split not in documents]:
        note = f"no splits, and the text is short: no text is left for {' and '.join(missing)}"
    return Corpus(document.name, documents, document, [*document.notes, note])


def _ends_of_lines(text: str) -> list[int]:
    """The ends of the splits, after whole lines."""
    ends = [match.end() for match in re.finditer(r"\n|[^\n]\Z", text)]
    return [ends[round(share * len(ends)) - 1] for share in _SPLIT_ENDS]


def _ends_of_words(text: str) -> list[int]:
    """The ends of the splits, after whole words, found without splitting the whole text."""
    between = re.compile(r"\s(?=\S)")
    matches = [between.search(text, round(share * len(text))) for share in _SPLIT_ENDS]
    return [match.end() if match else len(text) for match in matches]


class BuiltInCorpus(ABC):
    """Base class of built-in corpora: text by split, without a file.

    A corpus is a dataclass and a line in `CORPORA` (`corpora.py`). Its fields are its settings, as
    in `arithmetic:digits=3`.
    """

    about: ClassVar[str]  # one line for lists

    @abstractmethod
    def text(self, split: str) -> str:
        """The text of a split: train, valid or test."""

    @abstractmethod
    def details(self) -> str:
        """A one-line description for users, including the settings."""


# How many of 20 drawn lines go to each split.
_SHARES = {"train": range(2, 20), "valid": range(1), "test": range(1, 2)}
_HELD_OUT_SHARE = 20  # training lines per line of the valid and of the test text


class Line(NamedTuple):
    """A line and its identity (its problem without decoration)."""

    text: str
    identity: str


@dataclass(kw_only=True)
class DrawnLines(BuiltInCorpus):
    """Base class of corpora whose lines are drawn independently of each other.

    A subclass draws one line; this class makes the text of each split. A line always belongs to the
    same split, for every seed and size: a fingerprint of its identity decides. So no training text
    ever contains a line of the test text.
    """

    lines: int = 20_000  # of the training text; validation and test text have a twentieth each
    seed: int = 0

    def __post_init__(self) -> None:
        self.at_least("lines", _HELD_OUT_SHARE)
        self.at_least("seed", 0)

    def at_least(self, name: str, least: int) -> None:
        """Refuse a setting that is too small."""
        if getattr(self, name) < least:
            raise InputError(f"{name}={getattr(self, name)}: must be at least {least}")

    @abstractmethod
    def draw(self, chance: random.Random) -> Line:
        """One line."""

    def text(self, split: str) -> str:
        """The text of a split: the drawn lines that belong to it."""
        share = choose(_SHARES, split, "split")
        number = self.lines if split == "train" else self.lines // _HELD_OUT_SHARE
        chance = random.Random(f"{split} {self.seed}")
        texts: list[str] = []
        while len(texts) < number:
            line = self.draw(chance)
            if zlib.crc32(line.identity.encode()) % _HELD_OUT_SHARE in share:
                texts.append(line.text)
        return "".join(f"{text}\n" for text in texts)
