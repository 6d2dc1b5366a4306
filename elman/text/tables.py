"""Tables in text files: cells separated by tabs, commas or semicolons, or JSON lines.

Takes a document, gives a `TextTable`; called by the readers of labelled texts and of pairs. The
file name and the content decide the format (`file_shapes.py`); the roles of the columns are decided
elsewhere (`tasks/classification/columns.py`).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elman.errors import InputError, nearest
from elman.text.file_shapes import csv_separator
from elman.text.files import bare_name
from elman.text.reader import Document


def parse_columns(written: str) -> dict[str, str]:
    """Parse `text=utterance,label=intent` into a dict.

    It maps each role (text, label, source, target …) to a column: a name in the header, a key of
    JSON lines, or a number; the first column is 1.
    """
    columns: dict[str, str] = {}
    for word in written.split(","):
        role, separator, column = (part.strip() for part in word.partition("="))
        if not (role and separator and column):
            raise InputError(
                f"--columns {written}: write role=column, like text=utterance,label=intent"
            )
        if role in columns:
            raise InputError(f"--columns {written}: {role} is given twice; give one column for it")
        columns[role] = column
    return columns


def columns_setting(written: str) -> str:
    """The value of `--columns` as a setting, `text.columns={…}`."""
    pairs = [f"{json.dumps(k)} = {json.dumps(v)}" for k, v in parse_columns(written).items()]
    return f"text.columns={{{', '.join(pairs)}}}"


def check_columns(columns: dict[Any, Any], roles: Sequence[str]) -> dict[str, str]:
    """Refuse unknown roles, and two roles with the same column."""
    for role in columns:
        if role not in roles:
            raise InputError(
                f"columns: unknown role {role!r} for such a table; {nearest(str(role), roles)}"
            )
    found = {str(role): str(column) for role, column in columns.items()}
    if len({*found.values()}) < len(found):
        raise InputError(f"columns: {', '.join(found)} need a column each; name different ones")
    return found


def read_json_lines(document: Document, form: str) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """The position and the object of every line; None for an empty line."""
    for number, line in enumerate(document.text.removesuffix("\n").split("\n"), 1):
        where = f"{document.name}, line {number}"
        yield where, _parse(where, line, form) if line.strip() else None


def _parse(where: str, line: str, form: str) -> dict[str, Any]:
    try:
        entry: Any = json.loads(line)
    except json.JSONDecodeError as error:
        reason = f"is not JSON ({error.msg}); write one object per line, like {form}"
        raise InputError(f"{where}: {reason}") from None
    except RecursionError:
        raise InputError(f"{where}: is nested too deeply; write {form}") from None
    if not isinstance(entry, dict):
        raise InputError(f"{where}: must be an object like {form}")
    return entry


def flatten(entry: dict[str, Any]) -> dict[str, Any]:
    """The fields of an object; those of objects inside it are named like `message.body`."""
    found: dict[str, Any] = {}
    for name, value in entry.items():
        if isinstance(value, dict):
            found |= {f"{name}.{inner}": each for inner, each in flatten(value).items()}
        else:
            found[name] = value
    return found


_JSON = "{"
_FORMATS = {_JSON: "JSON lines", "\t": "tab-separated", ",": "comma-separated", ";": "CSV with ;"}
_LONGEST_CELL = 2**31 - 1  # by default, csv refuses cells over 128 KB


@dataclass(frozen=True)
class TextTable:
    """Rows of cells, each with the number of its last line."""

    document: Document
    separator: str
    names: list[str]  # keys of JSON lines; [] where a first row may be a header or not
    rows: list[tuple[int, list[Any]]]  # a key that a line of JSON lacks is None

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.names) or len(self.rows[0][1])

    def where(self, line: int) -> str:
        """The place of a row, for messages."""
        return f"{self.document.name}, line {line}"


def table_separator(document: Document) -> str | None:
    """The separator of a table; `{` for JSON lines, None if it is not a table."""
    suffix = Path(bare_name(document.name)).suffix.lower()
    first = document.text.lstrip("\n").split("\n", 1)[0]
    if suffix in (".jsonl", ".json", ".ndjson") or document.text.lstrip().startswith(_JSON):
        return _JSON
    if suffix == ".csv":
        fallback = "\t" if "\t" in first else ","
        return csv_separator(document.text, fewest=1, spaced=True) or fallback
    if suffix == ".tsv" or "\t" in first:
        return "\t"
    return csv_separator(document.text)


def read_table(document: Document, separator: str, *, with_empty: bool = False) -> TextTable:
    """The rows of a table; all must have as many cells as the first.

    Empty lines are skipped; `with_empty`: in tab-separated files they are empty rows.
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
                f"({_FORMATS[separator]}); give every row the same number"
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
    entries = [(number, flatten(entry)) for number, entry in entries]
    names = [*dict.fromkeys(name for _, entry in entries for name in entry)]
    rows = [(number, [entry.get(name) for name in names]) for number, entry in entries]
    return TextTable(document, _JSON, names, rows)
