"""Read any data and say what it is: running text, or labelled, tagged, parallel or asked texts.

Takes the value of --data, gives a `Dataset`: its kind, and for every split the texts, labels and
tags as columns. The content decides the kind (`recipe_choice.py`); a table whose columns are not
clear is read as text, with a note. Called by the overview of the data. Works without torch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elman.errors import InputError
from elman.tasks.answering.reader import read_questions
from elman.tasks.classification.columns import Layout, find_layout
from elman.tasks.classification.reader import read_labelled
from elman.tasks.recipe_choice import (
    MOST_REPEATED,
    PAIRS,
    TREE,
    has_labels_first,
    is_parallel,
    is_squad,
)
from elman.tasks.tagging.reader import read_tagged
from elman.tasks.translation.pairs import read_pairs
from elman.tasks.translation.parallel import open_parallel, stem_and_ending
from elman.text.corpora import CORPORA, Corpus, files_in, open_corpus
from elman.text.example_splits import Splitter
from elman.text.file_shapes import looks_like
from elman.text.reader import Document, read_document
from elman.text.tables import TextTable, read_table, table_separator
from elman.text.task_config import PairConfig

TEXT, LABELLED, TAGGED = "running text", "labelled texts", "tagged sentences"
PARALLEL, QUESTIONS = "pairs of texts", "questions on passages"
UNITS = {
    TEXT: "lines",
    LABELLED: "texts",
    TAGGED: "sentences",
    PARALLEL: "pairs",
    QUESTIONS: "questions",
}
_LISTS = 2  # .txt files without splits that make a folder of lists
_LANGUAGES = ("en", "de")  # shown first if parallel files are in more than two


@dataclass
class Examples:
    """Texts in columns, such as source and target, with a label or tags each."""

    columns: dict[str, Sequence[Any]]  # texts, or lists of words
    labels: Sequence[str] = ()  # one per example
    tags: Sequence[Sequence[str]] = ()  # one per word
    keys: Sequence[Hashable] = ()  # what makes two examples the same; default: their columns
    empty_labels: int = 0

    def __len__(self) -> int:
        return len(self.keys) or len(next(iter(self.columns.values())))

    def identities(self) -> Iterator[Hashable]:
        """What makes two examples the same."""
        if self.keys:
            return iter(self.keys)
        if len(self.columns) == 1:
            return iter(next(iter(self.columns.values())))
        return zip(*self.columns.values(), strict=True)

    def take(self, rows: Sequence[int]) -> Examples:
        """Some of them; a column of its own length, like passages, keeps the used ones."""

        def some(column: Sequence[Any]) -> Sequence[Any]:
            return [column[row] for row in rows] if column else column

        return Examples(
            {name: some(column) for name, column in self.columns.items()},
            some(self.labels),
            some(self.tags),
            some(self.keys),
        )


@dataclass
class Dataset:
    """The examples of every split."""

    name: str
    kind: str
    splits: dict[str, Examples]
    documents: dict[str, Document]  # of every split, or of the one file
    whole: Examples | None = None  # of one file, in its order, if it was split by chance
    notes: list[str] = field(default_factory=list)


def read_data(data: str, columns: dict[str, str] | None = None) -> Dataset:
    """Read the data of a path or a built-in corpus; `columns`: those of a table, by role."""
    columns = columns or {}
    built_in = data.partition(":")[0] in CORPORA and not os.path.exists(data)
    if not built_in and _is_lists(data):
        return _read_lists(Path(data))
    if not built_in and is_parallel(data):
        config, notes = _languages(data)
        return _read(open_parallel(data, config), PARALLEL, lambda d: _pairs(d, config), notes)
    corpus = open_corpus(data)
    document = corpus.whole or next(iter(corpus.documents.values()))
    if built_in:
        kind = PARALLEL if data.partition(":")[0] in PAIRS else TEXT
        return _read(corpus, kind, lambda d: _pairs(d, PairConfig()))
    kind, notes = _kind_of(document, columns)
    return _read(corpus, kind, lambda d: _READERS[kind](d, columns), notes)


def _read(
    corpus: Corpus,
    kind: str,
    read: Callable[[Document], Examples],
    notes: Sequence[str] = (),
) -> Dataset:
    if kind == TEXT:
        splits = {split: _lines(document) for split, document in corpus.documents.items()}
        documents = corpus.documents
        found = [*corpus.notes, *(note for one in documents.values() for note in one.notes)]
        return Dataset(corpus.name, kind, splits, documents, notes=[*found, *notes])
    if corpus.whole is None:
        documents = dict(corpus.documents)
        splits = {split: read(document) for split, document in documents.items()}
        found = [*corpus.notes, *(note for one in documents.values() for note in one.notes)]
        return Dataset(corpus.name, kind, splits, documents, notes=[*found, *notes])
    every = read(corpus.whole)
    parts = _splitter(every).split(range(len(every)))
    splits = {split: every.take(rows) for split, rows in parts.items() if rows}
    note = f"one file: its {UNITS[kind]} were split at random, as in training"
    documents = {"all": corpus.whole}
    return Dataset(corpus.name, kind, splits, documents, every, [*corpus.whole.notes, note, *notes])


def _splitter(every: Examples) -> Splitter:
    """Like the splitters of the tasks."""
    if every.labels:
        return Splitter(label=lambda row: every.labels[row])
    if "passage" in every.columns:
        return Splitter(group=lambda row: every.columns["passage"][row])
    return Splitter()


# Kinds --------------------------------------------------------------------------------------------


def _kind_of(document: Document, columns: dict[str, str]) -> tuple[str, list[str]]:
    """The kind of a document, and notes if it is not clear."""
    if "source" in columns or "target" in columns:
        return PARALLEL, []
    if columns:
        return LABELLED, []
    shape = looks_like(document)
    if shape is None:
        first = TREE.match(document.text) or has_labels_first(document.text)
        return (LABELLED if first else TEXT), []
    if shape.startswith("CoNLL"):
        return TAGGED, []
    if shape.startswith("JSON") and is_squad(document):
        return QUESTIONS, []
    if shape != "JSON" and (kind := _kind_of_table(document)):
        return kind, []
    what = f"this looks like {shape}, not running text; it is not clear what it contains"
    return TEXT, [f"{what}; name the columns of a table: --columns text=…,label=…"]


def _kind_of_table(document: Document) -> str | None:
    """Labels repeat; the translations of different texts do not."""
    table = _table(document)
    names = {str(cell).strip().lower() for cell in table.names or table.rows[0][1]}
    if {"source", "target"} <= names or {"en", "de"} <= names:
        return PARALLEL
    try:
        layout = find_layout(table, {})
    except InputError:
        return None
    body = _body(table, layout)
    labels = {str(_first_of(row, layout.label)) for _, row in body}
    if layout.text and layout.label and len(labels) <= max(2, MOST_REPEATED * len(body)):
        return LABELLED
    return PARALLEL if table.width == 2 else None


def _is_lists(data: str) -> bool:
    """Whether a folder has lists whose file names are labels."""
    if not os.path.isdir(data):
        return False
    try:
        files = files_in(Path(data))
    except OSError:
        return False  # opening the corpus reports it
    words = ("train", "valid", "val", "dev", "test")
    return len(files) >= _LISTS and all(
        file.suffix == ".txt" and not any(word in file.stem.lower() for word in words)
        for file in files
    )


def _languages(data: str) -> tuple[PairConfig, list[str]]:
    """The two languages of parallel files; English and German first if there are more."""
    path = Path(data)
    files = files_in(path if path.is_dir() else path.parent)
    if not path.is_dir():
        files = [file for file in files if file.name.startswith(path.name)]
    endings = sorted({stem_and_ending(file)[1] for file in files} - {""})
    source, target, *others = sorted(
        endings, key=lambda one: (one not in _LANGUAGES, one != _LANGUAGES[0], one)
    )
    notes = [f"pairs of {source} and {target}"]
    if others:
        notes = [f"{notes[0]}; there are also {', '.join(others)}"]
    return PairConfig(source=source, target=target), notes


# Readers ------------------------------------------------------------------------------------------


def _lines(document: Document) -> Examples:
    return Examples({"text": document.text.removesuffix("\n").split("\n")})


def _labelled(document: Document, columns: dict[str, str]) -> Examples:
    if table_separator(document) is not None:
        return _labelled_rows(document, columns)
    examples = read_labelled(document, columns=columns)
    texts = [" ".join(example.texts) for example in examples]
    return Examples({"text": texts}, [example.label for example in examples])


def _labelled_rows(document: Document, columns: dict[str, str]) -> Examples:
    """The rows of a table; unlike for training, texts and labels may be empty."""
    table = _table(document)
    layout = find_layout(table, columns)
    rows = [row for _, row in _body(table, layout)]
    labels = [str(_first_of(row, layout.label) or "").strip() for row in rows]
    document.notes.append(f"{document.name}: {layout.describe(len({*labels} - {''}))}")
    sides = {"text": layout.text, "text2": layout.text2}
    texts: dict[str, Sequence[Any]] = {
        name: [str(_first_of(row, places) or "") for row in rows]
        for name, places in sides.items()
        if places
    }
    return Examples(texts, labels, empty_labels=labels.count(""))


def _table(document: Document) -> TextTable:
    separator = table_separator(document)
    if separator is None:
        raise InputError(f"{document.name}: is not a table; leave out --columns")
    return read_table(document, separator)


def _body(table: TextTable, layout: Layout) -> list[tuple[int, list[Any]]]:
    return table.rows[1:] if layout.header and not table.names else table.rows


def _first_of(row: list[Any], places: tuple[int, ...]) -> Any:
    return next((row[place] for place in places if row[place] is not None), None)


def _tagged(document: Document, columns: dict[str, str]) -> Examples:
    sentences = read_tagged(document)
    words = [sentence.words for sentence in sentences]
    return Examples({"text": words}, tags=[sentence.tags for sentence in sentences])


def _pairs(document: Document, config: PairConfig) -> Examples:
    pairs = read_pairs(document, config)
    columns: dict[str, Sequence[Any]] = {"target": [pair.target for pair in pairs]}
    if all(isinstance(pair.source, str) for pair in pairs):
        columns = {"source": [pair.source for pair in pairs], **columns}
    return Examples(columns)


def _asked(document: Document, columns: dict[str, str]) -> Examples:
    read = read_questions(document)
    asked = [(one.question.text, one.passage.text) for one in read]
    answers = [one.answers[0].text if one.answers else "" for one in read]
    questions, passages = ([both[place] for both in asked] for place in (0, 1))
    return Examples({"question": questions, "passage": passages, "answer": answers}, keys=asked)


def _read_lists(folder: Path) -> Dataset:
    """A folder of lists: the name of each file is the label of its lines."""
    documents = {path.stem: read_document(path) for path in files_in(folder)}
    lines = [
        (line.strip(), label)
        for label, document in documents.items()
        for line in document.text.removesuffix("\n").split("\n")
    ]
    every = Examples({"text": [line for line, _ in lines]}, [label for _, label in lines])
    notes = [note for document in documents.values() for note in document.notes]
    notes.append(
        f"{len(documents)} lists: the name of each file is the label of its lines; train a "
        "language model on them with --set text.labelled=true"
    )
    return Dataset(str(folder), LABELLED, {"all": every}, documents, notes=notes)


_READERS: dict[str, Callable[[Document, dict[str, str]], Examples]] = {
    TEXT: lambda document, columns: _lines(document),
    LABELLED: _labelled,
    TAGGED: _tagged,
    PARALLEL: lambda document, columns: _pairs(document, PairConfig(columns=columns)),
    QUESTIONS: _asked,
}
