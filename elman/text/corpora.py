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
from elman.text.file_shapes import refuse_other_shapes
from elman.text.reader import Document, read_document

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
SPLITS = ("train", "valid", "test")
SPLIT_NAMES = {
    "train": ("train", "training"),
    "valid": ("valid", "validation", "val", "dev"),
    "test": ("test",),
}
# Of one file, in order: nine tenths for training, a twentieth each for validation and test.
_SPLIT_ENDS = (0.90, 0.95, 1.0)
_FEWEST_LINES = 40  # below this a file is cut between words instead of between lines


@dataclass
class Corpus:
    """Documents by split; `whole` when one file was cut automatically."""

    name: str
    documents: dict[str, Document]
    whole: Document | None = None
    notes: list[str] = field(default_factory=list)

    def split(self, name: str) -> Document:
        """The document of a split, or an error that says which there are."""
        if name not in self.documents:
            there = ", ".join(self.documents)
            remedy = "choose another --split"
            if name in SPLITS and self.whole is None:
                remedy = f"name a file *{name}* in the folder, or {remedy}"
            raise InputError(f"{self.name}: there is no {name!r} split, only {there}; {remedy}")
        return self.documents[name]


def open_corpus(data: str, *, labelled: bool = False) -> Corpus:
    """A corpus by its name or path; `labelled`: a folder of lists, named by what is in them."""
    if not data:
        raise InputError("--data is empty; name a text file, a folder or a built-in corpus")
    if labelled and os.path.isdir(data):
        return _open_labelled(Path(data))
    path = Path(data)
    if data in CORPORA or (data.partition(":")[0] in CORPORA and not os.path.exists(path)):
        return _open_built_in(data)
    if os.path.isdir(path):  # unlike Path.is_dir, at ease with names too long for a file
        return _open_folder(path)
    if not os.path.exists(path):
        if files := _files_of_set(path):
            return _open_files(str(path), files)
        raise InputError(
            f"{data}: no such file, folder or built-in corpus ({nearest(data, CORPORA)})"
        )
    return split_document(read_document(path))


@cache
def _open_built_in(name: str) -> Corpus:
    """A corpus by its name as written, like `arithmetic` or `arithmetic:digits=3,lines=5000`."""
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
        files = files_in(folder)
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({error.strerror})") from None
    return _open_files(str(folder), files)


def files_in(folder: Path) -> list[Path]:
    """The files of a folder that may be text, by name."""
    return sorted(
        path
        for path in folder.iterdir()
        if path.is_file() and not path.name.startswith((".", "README"))
    )


def _files_of_set(path: Path) -> list[Path]:
    """The splits whose names begin with that of a path, up to a mark."""
    try:
        begun = [file for file in files_in(path.parent) if file.name.startswith(path.name)]
    except OSError:
        return []
    return [
        file
        for file in begun
        if not file.name[len(path.name)].isalnum()
        and any(_names_split(Path(file.name[len(path.name) :]), split) for split in SPLITS)
    ]


def _open_files(name: str, files: list[Path]) -> Corpus:
    found = {split: [path for path in files if _names_split(path, split)] for split in SPLITS}
    if not found["train"] and not found["test"] and not found["valid"]:
        if len(files) == 1:
            return split_document(read_document(files[0]))
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
    documents = {split: read_document(paths[0]) for split, paths in found.items() if paths}
    return Corpus(name, documents)


def _open_labelled(folder: Path) -> Corpus:
    """Lists in files that are named by what is in them: `Russian.txt` gives `Russian: Ivanov`.

    Each line is taken once per list, since copies would be in training and test text alike, and all
    of them in an order that is random but always the same.
    """
    files = sorted(path for path in folder.iterdir() if path.suffix == ".txt")
    if not files:
        raise InputError(f"{folder}: has no .txt files; with text.labelled=true each is a list")
    documents = [(path.stem, read_document(path)) for path in files]
    lines = [
        f"{label}: {line.strip()}\n"
        for label, document in documents
        for line in dict.fromkeys(document.text.splitlines())
        if line.strip()
    ]
    read = sum(document.lines for _, document in documents)
    random.Random(0).shuffle(lines)
    document = Document(str(folder), "".join(lines))
    document.notes += [note for _, one in documents for note in one.notes]
    document.notes.append(
        f"{len(files)} lists of {read:,} lines, {read - len(lines):,} of them copies or empty; "
        "each line begins with its list's name"
    )
    return split_document(document)


def _names_split(path: Path, split: str) -> bool:
    words = re.split(r"[^a-z]+", path.name.lower())
    return any(name in words for name in SPLIT_NAMES[split])


def split_document(document: Document) -> Corpus:
    """Train, valid and test text out of one file, in this order."""
    by_lines = document.lines >= _FEWEST_LINES
    ends = _ends_of_lines(document.text) if by_lines else _ends_of_words(document.text)
    documents = {}
    start = 0
    for split, end in zip(SPLITS, ends, strict=True):
        text = document.text[start:end]
        if text.strip():
            documents[split] = Document(f"{document.name} ({split})", text)
        start = end
    unit = "lines" if by_lines else "its text, cut between words,"
    note = f"one file: the first 90 % of {unit} are train, then 5 % valid, 5 % test"
    return Corpus(document.name, documents, document, [*document.notes, note])


def _ends_of_lines(text: str) -> list[int]:
    """Where the splits end, in whole lines."""
    ends = [match.end() for match in re.finditer(r"\n|[^\n]\Z", text)]
    return [ends[round(share * len(ends)) - 1] for share in _SPLIT_ENDS]


def _ends_of_words(text: str) -> list[int]:
    """Where the splits end, in whole words: a line of 100 MB is cut without taking it apart."""
    between = re.compile(r"\s(?=\S)")
    matches = [between.search(text, round(share * len(text))) for share in _SPLIT_ENDS]
    return [match.end() if match else len(text) for match in matches]


def open_running_text(data: str, *, labelled: bool = False, plain: bool = False) -> Corpus:
    """A corpus; files that look like tables or annotation are refused, unless `plain`."""
    corpus = open_corpus(data, labelled=labelled)
    if plain or labelled or data.partition(":")[0] in CORPORA:
        return corpus
    documents = [corpus.whole] if corpus.whole else [*corpus.documents.values()]
    for document in documents:
        refuse_other_shapes(document)
    return corpus


class BuiltInCorpus(ABC):
    """What a built-in corpus is: text by split, without a file.

    A corpus is a dataclass and a line in `CORPORA` (`corpora.py`); its
    settings, as in `arithmetic:digits=3`, are its fields.
    """

    about: ClassVar[str]  # one line for lists

    @abstractmethod
    def text(self, split: str) -> str:
        """The text of a split: train, valid or test."""

    @abstractmethod
    def details(self) -> str:
        """One line: what someone who uses it should know, the settings among it."""


# Of 20 lines drawn, how many go to which split.
_SHARES = {"train": range(2, 20), "valid": range(1), "test": range(1, 2)}
_HELD_OUT_SHARE = 20  # valid and test text have one line for so many of the training text


class Line(NamedTuple):
    """A line, and what makes it another than other lines (its problem without decoration)."""

    text: str
    identity: str


@dataclass(kw_only=True)
class DrawnLines(BuiltInCorpus):
    """Corpora whose lines are drawn one by one, each line independent of the others.

    A corpus says how to draw one line and gets the text of each split. A line belongs to one split
    for ever, whatever the seed and the size: a fingerprint of what it asks decides. So no model,
    however much of the training text it has seen, has met a line of the test text.
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
        """The text of a split, one line per draw that belongs to it."""
        share = choose(_SHARES, split, "split")
        number = self.lines if split == "train" else self.lines // _HELD_OUT_SHARE
        chance = random.Random(f"{split} {self.seed}")
        texts: list[str] = []
        while len(texts) < number:
            line = self.draw(chance)
            if zlib.crc32(line.identity.encode()) % _HELD_OUT_SHARE in share:
                texts.append(line.text)
        return "".join(f"{text}\n" for text in texts)
