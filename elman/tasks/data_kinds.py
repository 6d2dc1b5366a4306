"""Read any data and say what it is: running text, or labelled, tagged, parallel or asked texts.

Takes the value of --data, gives a `Dataset`: its kind, and for every split the texts, labels and
tags as columns. The content decides the kind (`recipe_choice.py`); a table whose columns are not
clear is read as text, with a note. Of a text that is larger than memory, the beginning is read.
Called by the overview of the data. Works without torch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from elman.errors import InputError
from elman.tasks.classification.columns import about_zeros_and_ones, find_layout
from elman.tasks.data_examples import (
    MINIMAL_PAIR,
    Examples,
    asked_examples,
    body_of,
    examples_of_lines,
    first_of,
    labelled_examples,
    minimal_pairs,
    paired_examples,
    tagged_examples,
    whole_table,
)
from elman.tasks.recipe_choice import (
    MOST_REPEATED,
    PAIRS,
    TREE,
    has_labels_first,
    is_parallel,
    is_squad,
    is_text_of_many_files,
)
from elman.tasks.translation.parallel import open_parallel, stem_and_ending
from elman.text import files, records
from elman.text.corpora import CORPORA, Corpus, open_corpus
from elman.text.example_splits import Splitter
from elman.text.file_shapes import looks_like
from elman.text.files import local_files
from elman.text.label_folders import find_label_folders
from elman.text.label_lists import are_clearly_labels, find_label_lists
from elman.text.reader import Document, read_document
from elman.text.running_text import find_files, open_running_text
from elman.text.streamed import IN_MEMORY
from elman.text.tables import TextTable
from elman.text.task_config import PairConfig
from elman.text.token_lists import has_token_lists

TEXT, LABELLED, TAGGED = "running text", "labelled texts", "tagged sentences"
PARALLEL, QUESTIONS = "pairs of texts", "questions on passages"
MINIMAL, UNCLEAR = "minimal pairs", "not clear"
UNITS = {
    TEXT: "lines",
    LABELLED: "texts",
    TAGGED: "sentences",
    PARALLEL: "pairs",
    QUESTIONS: "questions",
    MINIMAL: "pairs",
    UNCLEAR: "lines",
}
_SAMPLE = 10_000  # characters
_ENOUGH = 4_000_000  # characters of a table
_PERHAPS_LABELS = (
    "train classifier reads the name of each file as the label of its lines; other recipes read "
    "the files as one text"
)
_SHRINKS = 4  # text takes less space, compressed
_LANGUAGES = ("en", "de")  # shown first if parallel files are in more than two


@dataclass
class Dataset:
    """The examples of every split."""

    name: str
    kind: str
    splits: dict[str, Examples]
    documents: dict[str, Document]  # of every split, or of the one file
    whole: Examples | None = None  # of one file, in its order, if it was split by chance
    lists: bool = False  # a folder of lists, whose file names are the labels
    notes: list[str] = field(default_factory=list)
    format: str = ""  # of its files


def read_data(data: str, columns: dict[str, str] | None = None) -> Dataset:
    """Read the data of a path or a built-in corpus; `columns`: those of a table, by role."""
    columns = columns or {}
    built_in = data.partition(":")[0] in CORPORA and not os.path.exists(data)
    if not built_in and are_clearly_labels(data):
        return _read_lists(Path(data))
    if not built_in and find_label_folders(data):
        corpus = open_corpus(data, label_folders=True)
        texts = _read(corpus, LABELLED, lambda d: labelled_examples(d, columns))
        return replace(texts, format="one folder per label")
    if not built_in and is_parallel(data):
        config, notes = _languages(data)
        return _read(
            open_parallel(data, config), PARALLEL, lambda d: paired_examples(d, config), notes
        )
    if not built_in and (found := _read_running_text(data, columns)):
        return found
    corpus = open_corpus(data)
    document = corpus.whole or next(iter(corpus.documents.values()))
    if built_in:
        kind = PARALLEL if data.partition(":")[0] in PAIRS else TEXT
        return _read(corpus, kind, lambda d: paired_examples(d, PairConfig()))
    try:
        kind, notes = _kind_of(document, columns)
    except InputError:  # a broken row: language models leave it out, tasks refuse it
        with suppress(InputError):
            return _as_running_text(data, columns)
        raise
    if kind == UNCLEAR:
        with suppress(InputError):  # a table with one column of text
            text = _as_running_text(data, columns)
            return replace(text, notes=[*text.notes, *_about_labels(document)])
    found = _read(corpus, kind, lambda d: _READERS[kind](d, columns), notes)
    count = 1 if corpus.whole is not None else len(corpus.documents)
    return replace(found, format=_format(document.name, count, document))


# Running text that is in many files, in a column, or larger than memory ---------------------------


def _read_running_text(data: str, columns: dict[str, str]) -> Dataset | None:
    """Data that only language models read, or None if it may be anything else."""
    if columns and {*columns} <= {"text", "time"}:
        return _as_running_text(data, columns)
    if is_text_of_many_files(data):
        texts = _as_running_text(data, columns)
        if find_label_lists(data):
            texts.notes.append(_PERHAPS_LABELS)
        return texts
    try:
        found = find_files(data)
    except InputError:
        return None  # opening the corpus reports it
    if any(_may_be_large(one) for some in found.values() for one in some):
        with suppress(InputError):  # then it is no running text
            return _as_running_text(data, columns)
    return None


def _may_be_large(location: str) -> bool:
    size = 0 if location == files.STANDARD_INPUT else os.stat(location).st_size
    return size > (IN_MEMORY // _SHRINKS if files.is_compressed(location) else IN_MEMORY)


def _as_running_text(data: str, columns: dict[str, str]) -> Dataset:
    corpus = open_running_text(data, columns=columns, split_large=False)
    # Notes about rows are complete only after reading.
    documents = {name: _beginning(document) for name, document in corpus.documents.items()}
    notes = [
        f"{document.name}: is too large to read as a whole; only its first "
        f"{len(documents[name].text):,} characters are described"
        for name, document in corpus.documents.items()
        if document.is_large
    ]
    splits = {name: examples_of_lines(document) for name, document in documents.items()}
    every = [file for some in find_files(data).values() for file in some]
    form = _format(every[0], len(every), Document(every[0], files.first_text(every[0])))
    return Dataset(
        corpus.name, TEXT, splits, documents, notes=[*corpus.all_notes(), *notes], format=form
    )


def _beginning(document: Document) -> Document:
    """The first whole lines of a large document."""
    if not document.is_large:
        return document
    text = document.beginning(IN_MEMORY)
    return Document(document.name, text[: text.rfind("\n") + 1] or text, document.notes)


def _format(location: str, count: int, document: Document) -> str:
    """The format of files in words: "JSON lines, gzip, 3 files"."""
    form = records.format_of(location) or looks_like(document) or "plain text"
    compression = [files.compression_of(location)] if files.is_compressed(location) else []
    return ", ".join([form, *compression, f"{count} file{'s' * (count > 1)}"])


def _read(
    corpus: Corpus,
    kind: str,
    read: Callable[[Document], Examples],
    notes: Sequence[str] = (),
) -> Dataset:
    if kind in (TEXT, UNCLEAR):
        splits = {
            split: examples_of_lines(document) for split, document in corpus.documents.items()
        }
        documents = corpus.documents
        found = [*corpus.notes, *(note for one in documents.values() for note in one.notes)]
        return Dataset(corpus.name, kind, splits, documents, notes=[*found, *notes])
    if corpus.whole is None:
        documents = dict(corpus.documents)
        splits = {split: read(document) for split, document in documents.items()}
        found = [*corpus.notes, *(note for one in documents.values() for note in one.notes)]
        return Dataset(corpus.name, kind, splits, documents, notes=[*found, *notes])
    every = read(corpus.whole)
    documents, found = {"all": corpus.whole}, [*corpus.whole.notes, *notes]
    if kind == MINIMAL:
        return Dataset(corpus.name, kind, {"all": every}, documents, notes=found)
    parts = _splitter(every).split(range(len(every)))
    splits = {split: every.take(rows) for split, rows in parts.items() if rows}
    found.append(f"no splits: the {UNITS[kind]} were split at random, as in training")
    return Dataset(corpus.name, kind, splits, documents, every, notes=found)


def _splitter(every: Examples) -> Splitter:
    """Like the splitters of the tasks."""
    if every.several:
        return Splitter(labels=lambda row: every.several[row])
    if every.labels:
        return Splitter(labels=lambda row: [every.labels[row]])
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
    if shape.startswith("CoNLL") or has_token_lists(document):
        return TAGGED, []
    if shape.startswith("JSON") and is_squad(document):
        return QUESTIONS, []
    if shape == "JSON lines" and all(f'"{key}"' in document.text[:_SAMPLE] for key in MINIMAL_PAIR):
        return MINIMAL, ["minimal pairs are for elman minimal-pairs, not for training"]
    if shape != "JSON" and (kind := _kind_of_table(document)):
        return kind, []
    names = _names_of_columns(document) if shape != "JSON" else []
    known = f" (it has {', '.join(names[:12])}{' …' if len(names) > 12 else ''})" if names else ""
    return UNCLEAR, [
        f"this looks like {shape}, but it is not clear what it contains, so its lines were counted "
        f"as they are; name the columns of a table{known}: --columns text=…,label=…"
    ]


def _about_labels(document: Document) -> list[str]:
    """A note if a table has a column for every label."""
    hint = "" if looks_like(document) == "JSON" else about_zeros_and_ones(_first_rows(document))
    return [f"{document.name}: {hint}"] if hint else []


def _names_of_columns(document: Document) -> list[str]:
    table = _first_rows(document)
    return table.names or [str(cell).strip() for cell in table.rows[0][1]]


def _kind_of_table(document: Document) -> str | None:
    """Labels repeat; the translations of different texts do not."""
    table = _first_rows(document)
    names = {str(cell).strip().lower() for cell in table.names or table.rows[0][1]}
    if {"source", "target"} <= names or {"en", "de"} <= names:
        return PARALLEL
    try:
        layout = find_layout(table, {})
    except InputError:
        return None
    body = body_of(table, layout)
    labels = {str(first_of(row, layout.label)) for _, row in body}
    if layout.text and layout.label and len(labels) <= max(2, MOST_REPEATED * len(body)):
        return LABELLED
    return PARALLEL if _is_pair(table) else None


def _is_pair(table: TextTable) -> bool:
    """Two columns of text, without the names of JSON; the numbers of rows are no text."""
    if table.names or table.width != 2:
        return False
    columns = zip(*(row for _, row in table.rows[1:]), strict=True)
    return all(any(not str(cell).strip().isdigit() for cell in column) for column in columns)


def _first_rows(document: Document) -> TextTable:
    """The table of the first megabytes, which show what it contains."""
    text = document.text
    if len(text) > _ENOUGH:
        beginning = Document(document.name, text[: text.rfind("\n", 0, _ENOUGH) + 1])
        with suppress(InputError):  # it may end inside a quoted cell
            return whole_table(beginning)
    return whole_table(document)


def _languages(data: str) -> tuple[PairConfig, list[str]]:
    """The two languages of parallel files; English and German first if there are more."""
    path = Path(data)
    sides = local_files(path if path.is_dir() else path.parent)
    if not path.is_dir():
        sides = [file for file in sides if file.name.startswith(path.name)]
    endings = sorted({stem_and_ending(file)[1] for file in sides} - {""})
    source, target, *others = sorted(
        endings, key=lambda one: (one not in _LANGUAGES, one != _LANGUAGES[0], one)
    )
    notes = [f"pairs of {source} and {target}"]
    if others:
        notes = [f"{notes[0]}; there are also {', '.join(others)}"]
    return PairConfig(source=source, target=target), notes


def _read_lists(folder: Path) -> Dataset:
    """A folder of lists: the name of each file is the label of its lines."""
    documents = {path.stem: read_document(path) for path in local_files(folder)}
    lines = [
        (line.strip(), label)
        for label, document in documents.items()
        for line in document.text.removesuffix("\n").split("\n")
    ]
    every = Examples({"text": [line for line, _ in lines]}, [label for _, label in lines])
    notes = [note for document in documents.values() for note in document.notes]
    notes.append(
        f"{len(documents)} lists: the name of each file is the label of its lines; a language "
        "model reads the labels too with --set text.labelled=true"
    )
    return Dataset(str(folder), LABELLED, {"all": every}, documents, notes=notes, lists=True)


_READERS: dict[str, Callable[[Document, dict[str, str]], Examples]] = {
    TEXT: lambda document, columns: examples_of_lines(document),
    LABELLED: labelled_examples,
    TAGGED: tagged_examples,
    PARALLEL: lambda document, columns: paired_examples(document, PairConfig(columns=columns)),
    QUESTIONS: asked_examples,
    MINIMAL: minimal_pairs,
}
