"""Open the running text of a language model, wherever it is and whatever its size.

Takes what `--data` names (a file, a folder, a glob, an address, standard input, a built-in corpus,
a Hugging Face dataset saved to disk), gives a `Corpus`. Tables (JSON lines, CSV, TSV, Parquet,
Arrow) give the text of one column. Several files of a split are one text, in the order of their
names. Called by the tasks of language modelling; examples are opened by `corpora.py`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from elman.errors import InputError
from elman.text import files, records
from elman.text.corpora import (
    CORPORA,
    Corpus,
    files_of_set,
    no_files,
    no_such_data,
    open_corpus,
    split_document,
)
from elman.text.example_splits import ORDERED, TIME
from elman.text.file_shapes import is_table, looks_like, refuse_other_shapes
from elman.text.reader import Document
from elman.text.sources import Columns, Source
from elman.text.split_names import SPLITS, names_split
from elman.text.streamed import StreamedDocument, document_of, selections
from elman.text.tables import flatten

_TEXT = "text"  # the name of an evident column
_BEGINNING = 1 << 17  # characters that decide what a file is
_DATASET, _DATASETS = "state.json", "dataset_dict.json"  # of a Hugging Face dataset, or several
SAVED_DATASETS = (_DATASET, _DATASETS)


def open_running_text(
    data: str,
    *,
    labelled: bool = False,
    plain: bool = False,
    columns: Mapping[str, str] | None = None,
    split: str = ORDERED,
    strict: bool = False,
    checked: bool = False,
    split_large: bool = True,
) -> Corpus:
    """Open a text; `plain`: whatever it looks like, `checked`: it was accepted before.

    `columns`: like {"text": "body"}, `split`: how a text without splits is split, `strict`:
    refuse rows without text instead of reporting their number. Without `split_large`, a streamed
    text without splits stays whole, since counting its lines would mean to read all of it.
    """
    if labelled or data in CORPORA or data.partition(":")[0] in CORPORA:
        return open_corpus(data, labelled=labelled)
    opener = _Opener(dict(columns or {}), plain or checked, strict)
    found = find_files(data)
    if others := _not_read(data, found):
        opener.notes.append(f"not read, because their names contain no split: {', '.join(others)}")
    opener.notes += _mixed_kinds(found)
    sources = {
        name: [opener.source(one, alone=len(some) == 1) for one in some]
        for name, some in found.items()
    }
    if "" in sources:
        return _split(data, sources[""], split if split_large else "", opener.notes)
    documents = {
        name: document_of(_name(data, some), some) for name, some in sources.items() if some
    }
    return Corpus(data, documents, notes=opener.notes)


def _mixed_kinds(found: dict[str, list[str]]) -> list[str]:
    """A note for each split whose files have different endings, like train.en and train.de."""
    notes = []
    for split, some in found.items():
        kinds = sorted({_ending(one) for one in some})
        if split and len(kinds) > 1:
            notes.append(
                f"{split}: {len(some)} files with different endings ({', '.join(kinds[:5])}) are "
                "read as one text; to read one of them, give the file"
            )
    return notes


def _ending(path: str) -> str:
    """The ending of a name, without compression and rotation: `.log` of `app.log.2.gz`."""
    return Path(files.without_rotation(path)).suffix or "no ending"


def _name(data: str, sources: list[Source]) -> str:
    if len(sources) == 1:
        return sources[0].location
    first = os.path.basename(sources[0].location)
    return f"{data} ({len(sources)} files from {first} on)"


def _split(data: str, sources: list[Source], way: str, notes: list[str]) -> Corpus:
    """A text without splits, split by `way`; "" means in order if it is small, else not at all."""
    name = _name(data, sources)
    whole = document_of(name, sources)
    if not way and whole.is_large:
        return Corpus(name, {"all": whole}, whole, notes)
    if way in (ORDERED, "") and not whole.is_large:
        corpus = split_document(whole)
        corpus.notes[:0] = notes
        return corpus
    # The parts of a streamed text are streamed: to find out how large they are would take as long.
    made = StreamedDocument if whole.is_large else document_of
    documents = {
        part: made(f"{name} ({part})", sources, selection)
        for part, selection in selections(sources, way).items()
    }
    empty = [part for part, document in documents.items() if not document.beginning(1)]
    if "train" in empty:
        raise InputError(f"{name}: text.split={way} leaves no text for training; give more text")
    documents = {part: one for part, one in documents.items() if part not in empty}
    notes = [*notes, *(f"no text is left for {part}" for part in empty)]
    ways = {ORDERED: "in this order", TIME: "by time, the latest for test"}
    how = ways.get(way, f"by a hash of each line or row ({way})")
    note = f"no splits: 90 % of it is train, 5 % valid and 5 % test, {how}"
    return Corpus(name, documents, whole, [*whole.notes, *notes, note])


def find_files(data: str) -> dict[str, list[str]]:
    """The files of each split; under "" if the files name no splits."""
    if data == files.STANDARD_INPUT or (files.is_remote(data) and not files.expand(data)):
        return {"": [data]}
    if matches := files.expand(data):
        return _by_split(data, matches)
    path = Path(data)
    if os.path.isdir(path):
        return _files_of_folder(path)
    if os.path.exists(path):
        return {"": [data]}
    if some := files_of_set(path):
        return _by_split(data, [str(one) for one in some])
    raise no_such_data(data)


def _files_of_folder(folder: Path) -> dict[str, list[str]]:
    if os.path.exists(folder / _DATASETS):
        return _datasets(folder)
    if os.path.exists(folder / _DATASET):
        return {"": _dataset(folder)}
    try:
        found = files.local_files(folder)
        splits = {
            split: sorted(
                str(file)
                for inner in folder.iterdir()
                if inner.is_dir() and names_split(inner, split)
                for file in files.local_files(inner)
            )
            for split in SPLITS
        }
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({error.strerror})") from None
    if not found and any(splits.values()):
        return splits
    return _by_split(str(folder), [str(one) for one in found])


def _by_split(data: str, found: list[str]) -> dict[str, list[str]]:
    """Files by the split that their names say; files of one kind that name none are one text."""
    splits = {split: [one for one in found if names_split(Path(one), split)] for split in SPLITS}
    if any(splits.values()):
        return splits
    kinds = sorted({*map(_ending, found)})
    if len(kinds) == 1:
        return {"": found}
    if not found:
        raise no_files(data)
    raise InputError(
        f"{data}: has files of several kinds ({', '.join(kinds[:5])}), and no file is named train, "
        "valid or test; name the files so (ptb.train.txt, train.txt, …), or give one kind of file"
    )


def _not_read(data: str, found: dict[str, list[str]]) -> list[str]:
    """The files of a folder that belong to no split."""
    if "" in found or not os.path.isdir(data):
        return []
    read = {file for some in found.values() for file in some}
    return [one.name for one in files.local_files(Path(data)) if str(one) not in read]


def _datasets(folder: Path) -> dict[str, list[str]]:
    """The splits of a dataset dictionary that was saved with `save_to_disk`."""
    splits = json.loads((folder / _DATASETS).read_text(encoding="utf-8")).get("splits", [])
    names = {split: [one for one in splits if names_split(Path(one), split)] for split in SPLITS}
    return {
        split: [file for one in some for file in _dataset(folder / str(one))]
        for split, some in names.items()
    }


def _dataset(folder: Path) -> list[str]:
    """The Arrow files of one saved dataset, in the order of its rows."""
    try:
        state = json.loads((folder / _DATASET).read_text(encoding="utf-8"))
        return [str(folder / Path(one["filename"]).name) for one in state["_data_files"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{folder}: is not a complete Hugging Face dataset ({error}); save it again with "
            "save_to_disk"
        ) from None


class _Opener:
    """Decides how each file is read."""

    def __init__(self, columns: dict[str, str], plain: bool, strict: bool) -> None:
        self._columns = columns
        self._plain = plain
        self._strict = strict
        self.notes: list[str] = []

    def source(self, location: str, *, alone: bool) -> Source:
        """How a file is read; a file that is not alone may be empty."""
        return replace(self._source(location, alone), alone=alone)

    def _source(self, location: str, alone: bool) -> Source:
        form = records.format_of(location)
        if form in records.BINARY:
            return self._table(location, form, records.column_names(location, form))
        if self._plain and not self._columns:
            return Source(location)
        beginning = Document(location, _beginning(location, alone))
        if not alone and not beginning.text.strip():
            return Source(location)
        if self._columns and (form or is_table(beginning)):
            return self._table(location, form or records.guess_format(beginning.text), [])
        if self._columns:
            self.notes.append(f"{location}: is plain text; columns are for tables")
        if self._plain:
            return Source(location)
        if form == records.JSON_LINES or looks_like(beginning) == records.JSON_LINES:
            return self._table(location, records.JSON_LINES, _fields(beginning))
        if form is not None and _TEXT in records.header_of(beginning.text, form):
            return self._table(location, form, [_TEXT])
        refuse_other_shapes(beginning)
        return Source(location)

    def _table(self, location: str, form: str, known: list[str]) -> Source:
        """A table whose text column the user names, or which is evident."""
        column = self._columns.get("text")
        if column is None:
            if _TEXT not in known and len(known) != 1:
                names = ", ".join(known) or "no column with text"
                raise InputError(
                    f"{location}: which column is the text? It has {names}; name it with "
                    "--columns text=NAME"
                )
            column = _TEXT if _TEXT in known else known[0]
            note = f"{form}: the text is in the column {column!r}"
            self.notes += [note] * (note not in self.notes)
        columns = Columns(column, self._columns.get("time", ""))
        return Source(location, form, columns, self._strict)


def _beginning(location: str, alone: bool) -> str:
    """The first lines of a file."""
    text = ""
    for block in Source(location, alone=alone).blocks():
        text += block
        if len(text) >= _BEGINNING:
            break
    return text


def _fields(beginning: Document) -> list[str]:
    """The fields of the first object of JSON lines that hold text."""
    for line in beginning.text.split("\n"):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict):
            return [name for name, value in flatten(entry).items() if isinstance(value, str)]
    raise InputError(
        f'{beginning.name}: has no JSON object; write one per line, like {{"text": "…"}}, or read '
        "the file as it is with --set text.plain=true"
    )
