"""Tables in text files: rows of cells between tabs, commas or semicolons, or JSON lines.

Takes a document, gives a `TextTable`; called by the readers of labelled texts and of pairs. Which
format a file has is seen from its name and its content (`file_shapes.py`). What the columns hold is
decided elsewhere (`labelled_columns.py`).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elman.errors import InputError
from elman.text.file_shapes import csv_separator
from elman.text.json_lines import read_json_lines
from elman.text.reader import Document

_JSON = "{"
_FORMATS = {_JSON: "JSON lines", "\t": "tab-separated", ",": "comma-separated", ";": "CSV with ;"}
_LONGEST_CELL = 2**31 - 1  # csv refuses cells of 128 KB unless told


@dataclass(frozen=True)
class TextTable:
    """Rows of cells with the number of each one's last line."""

    document: Document
    separator: str
    names: list[str]  # keys of JSON lines; [] where a first row may be a header or not
    rows: list[tuple[int, list[Any]]]  # a key that a line of JSON lacks is None

    @property
    def width(self) -> int:
        """How many columns there are."""
        return len(self.names) or len(self.rows[0][1])

    def where(self, line: int) -> str:
        """The place of a row, for messages."""
        return f"{self.document.name}, line {line}"


def table_separator(document: Document) -> str | None:
    """What stands between the cells of a table; `{` for JSON lines, None if it is no table."""
    suffix = Path(document.name.removesuffix(".gz")).suffix.lower()
    first = document.text.lstrip("\n").split("\n", 1)[0]
    if suffix in (".jsonl", ".json", ".ndjson") or document.text.lstrip().startswith(_JSON):
        return _JSON
    if suffix == ".csv":
        fallback = "\t" if "\t" in first else ","
        return csv_separator(document.text, fewest=1) or fallback
    if suffix == ".tsv" or "\t" in first:
        return "\t"
    return csv_separator(document.text)


def read_table(document: Document, separator: str, *, with_empty: bool = False) -> TextTable:
    """The rows of a table; all must have as many cells as the first.

    Empty lines are left out; `with_empty`: between tabs they are rows without anything in them.
    """
    if separator == _JSON:
        return _read_json(document)
    every = [*_cells(document, separator)]
    rows = [(number, row) for number, row in every if any(row)]
    if not rows:
        raise InputError(f"{document.name}: has no rows; give a text and its label per line")
    width = len(rows[0][1])
    if with_empty and separator == "\t":
        rows = [(number, row if any(row) else [""] * width) for number, row in every]
    for number, row in rows:
        if len(row) != width:
            raise InputError(
                f"{document.name}, line {number}: has {len(row)} columns instead of {width} "
                f"({_FORMATS[separator]}); give every row as many"
            )
    return TextTable(document, separator, [], rows)


def _cells(document: Document, separator: str) -> Iterator[tuple[int, list[str]]]:
    if separator == "\t":  # quotes are text there
        lines = enumerate(document.text.removesuffix("\n").split("\n"), 1)
        yield from ((number, line.split("\t")) for number, line in lines)
        return
    csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(io.StringIO(document.text, newline=""), delimiter=separator, strict=True)
    try:
        yield from ((reader.line_num, row) for row in reader)
    except csv.Error as error:
        raise InputError(
            f"{document.name}, line {reader.line_num}: a quoted cell is not closed or goes on "
            f'after its quotes ({error}); write " inside quotes twice'
        ) from None


def _read_json(document: Document) -> TextTable:
    form = '{"text": "…", "label": "…"}'
    entries = [
        (number, entry)
        for number, (_, entry) in enumerate(read_json_lines(document, form), 1)
        if entry is not None
    ]
    if not entries:
        raise InputError(f"{document.name}: has no objects; write one per line, like {form}")
    names = [*dict.fromkeys(name for _, entry in entries for name in entry)]
    rows = [(number, [entry.get(name) for name in names]) for number, entry in entries]
    return TextTable(document, _JSON, names, rows)
