"""Rows of tables that may be larger than memory: JSON lines, CSV, TSV, Parquet, Arrow.

Takes a location and the names of columns, gives the values of these columns row by row, or the
reason why a row has none; called by `sources.py`. `read_rows_as_json` gives whole rows as JSON
lines, so that every reader of tables can read Parquet and Arrow too.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from elman.errors import InputError, nearest
from elman.extras import import_extra
from elman.text import files
from elman.text.file_shapes import csv_separator
from elman.text.reader import Reading
from elman.text.tables import flatten

JSON_LINES, CSV, TSV, PARQUET, ARROW = "JSON lines", "CSV", "TSV", "Parquet", "Arrow"
BINARY = (PARQUET, ARROW)
_ENDINGS = {
    ".jsonl": JSON_LINES,
    ".ndjson": JSON_LINES,
    ".csv": CSV,
    ".tsv": TSV,
    ".parquet": PARQUET,
    ".arrow": ARROW,
    ".feather": ARROW,
}
_ROWS = 1000  # of a batch of Parquet
_TEXTS = ("string", "large_string", "string_view")
_LONGEST_CELL = 2**31 - 1  # by default, csv refuses cells over 128 KB


class Row(NamedTuple):
    """The values of the wanted columns, or a problem."""

    number: int  # of the line, or of the row in binary files
    values: tuple[Any, ...] = ()
    problem: str = ""


def format_of(location: str) -> str | None:
    """The format that the name of a file promises; None for any other name."""
    return _ENDINGS.get(Path(files.bare_name(location)).suffix.lower())


def guess_format(beginning: str) -> str:
    """The format of a table from its first line."""
    first = beginning.lstrip("\n").split("\n", 1)[0]
    if first.lstrip().startswith("{"):
        return JSON_LINES
    return TSV if "\t" in first else CSV


def header_of(beginning: str, form: str) -> list[str]:
    """The cells of the first row of CSV or TSV."""
    first = beginning.lstrip("\n").split("\n", 1)[0]
    separator = "\t" if form == TSV else csv_separator(beginning, fewest=1) or ","
    return [name.strip().strip('"') for name in first.split(separator)]


def read_rows(location: str, form: str, columns: Sequence[str], reading: Reading) -> Iterator[Row]:
    """The values of these columns; a column is a name, or a number in CSV and TSV."""
    if form in BINARY:
        yield from _binary_rows(location, form, columns)
        return
    separator = _separator(location) if form == CSV else ""
    with files.opened(location) as stream:
        lines = _lines(reading.blocks(stream))
        if form == JSON_LINES:
            yield from _json_rows(lines, columns)
        elif form == TSV:
            yield from _cell_rows(location, ((line.split("\t"), n) for n, line in lines), columns)
        else:
            yield from _cell_rows(location, _csv_cells(location, lines, separator), columns)


def _lines(blocks: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The lines of a text with their numbers."""
    number = 0
    for block in blocks:
        for line in block.removesuffix("\n").split("\n"):
            number += 1
            yield number, line


# Text formats -------------------------------------------------------------------------------------


def _json_rows(lines: Iterable[tuple[int, str]], columns: Sequence[str]) -> Iterator[Row]:
    for number, line in lines:
        if not line.strip():
            yield Row(number, problem="are empty")
            continue
        try:
            entry: Any = json.loads(line)
        except (ValueError, RecursionError):
            yield Row(number, problem="are not JSON")
            continue
        if not isinstance(entry, dict):
            yield Row(number, problem="are not objects like {…}")
            continue
        fields = flatten(entry) | entry
        if missing := [column for column in columns if column not in fields]:
            yield Row(number, problem=f"have no field {missing[0]!r}")
        else:
            yield Row(number, tuple(fields[column] for column in columns))


def _csv_cells(
    location: str, lines: Iterable[tuple[int, str]], separator: str
) -> Iterator[tuple[list[str], int]]:
    csv.field_size_limit(_LONGEST_CELL)
    numbered = (f"{line}\n" for _, line in lines)
    reader = csv.reader(numbered, delimiter=separator, strict=True)
    try:
        yield from ((row, reader.line_num) for row in reader)
    except csv.Error as error:
        raise InputError(
            f"{location}, line {reader.line_num}: a quoted cell is not closed or goes on after "
            f'its quotes ({error}); write " inside quotes twice'
        ) from None


def _separator(location: str) -> str:
    """The separator of a CSV file: a comma or a semicolon."""
    with files.opened(location) as stream:
        beginning = next(Reading(location).blocks(stream), "")
    return csv_separator(beginning, fewest=1) or ","


def _cell_rows(
    location: str, rows: Iterator[tuple[list[str], int]], columns: Sequence[str]
) -> Iterator[Row]:
    first, line = next(rows, ([], 1))
    header = {name.strip(): place for place, name in enumerate(first)}
    places = [_place(location, column, header, len(first)) for column in columns]
    if not any(column in header for column in columns):
        yield Row(line, tuple(first[place] for place in places))  # numbers: there is no header
    for row, number in rows:
        if not any(row):
            yield Row(number, problem="are empty")
        elif len(row) != len(first):
            yield Row(number, problem=f"do not have {len(first)} columns")
        else:
            yield Row(number, tuple(row[place] for place in places))


def _place(location: str, column: str, header: dict[str, int], width: int) -> int:
    if column in header:
        return header[column]
    if column.isdigit() and 1 <= int(column) <= width:
        return int(column) - 1
    raise _no_column(location, column, [*header])


def _no_column(location: str, column: str, known: Sequence[str]) -> InputError:
    names = ", ".join(known[:12]) + (" …" if len(known) > 12 else "")
    return InputError(
        f"{location}: has no column {column!r}; it has {names}; "
        f"{nearest(column, known)}; name one with --columns text=NAME"
    )


# Parquet and Arrow --------------------------------------------------------------------------------


def column_names(location: str, form: str) -> list[str]:
    """The names of the columns of a binary file that hold text."""
    with _opened_binary(location, form) as table:
        return [one.name for one in table.schema_arrow if _is_text(one.type)]


def _is_text(kind: Any) -> bool:
    """Whether a column has strings, perhaps as numbers of a dictionary."""
    return str(getattr(kind, "value_type", kind)) in _TEXTS and not str(kind).startswith("list")


def read_rows_as_json(location: str, form: str) -> str:
    """All rows of a Parquet or Arrow file as JSON lines."""
    lines = []
    with _opened_binary(location, form) as table:
        for batch in table.iter_batches(batch_size=_ROWS):
            lines += [json.dumps(row, ensure_ascii=False, default=str) for row in batch.to_pylist()]
    return "".join(f"{line}\n" for line in lines)


def _binary_rows(location: str, form: str, columns: Sequence[str]) -> Iterator[Row]:
    with _opened_binary(location, form) as table:
        known = [one.name for one in table.schema_arrow]
        for column in columns:
            if column not in known:
                raise _no_column(location, column, known)
        number = 0
        for batch in table.iter_batches(batch_size=_ROWS, columns=[*columns]):
            found = [batch.column(batch.schema.get_field_index(name)) for name in columns]
            for values in zip(*(column.to_pylist() for column in found), strict=True):
                number += 1
                yield Row(number, values)


class _ArrowFile:
    """An Arrow file or stream, with the interface of a Parquet file."""

    def __init__(self, ipc: Any, stream: Any) -> None:
        beginning = stream.peek(6)[:6]
        # A file has an index at its end; a stream, as Hugging Face writes it, has none.
        is_file = beginning == b"ARROW1"
        self._reader = ipc.open_file(stream) if is_file else ipc.open_stream(stream)
        self.schema_arrow = self._reader.schema

    def iter_batches(self, batch_size: int, columns: list[str] | None = None) -> Iterator[Any]:
        if hasattr(self._reader, "num_record_batches"):
            batches: Iterable[Any] = map(
                self._reader.get_batch, range(self._reader.num_record_batches)
            )
        else:
            batches = self._reader
        for batch in batches:
            for start in range(0, batch.num_rows, batch_size):
                part = batch.slice(start, batch_size)
                yield part if columns is None else part.select(columns)


@contextmanager
def _opened_binary(location: str, form: str) -> Iterator[Any]:
    problem = f"{location}: {form} files need pyarrow"
    pyarrow = import_extra("pyarrow", problem)
    if files.is_compressed(location) or location == files.STANDARD_INPUT:
        raise InputError(f"{location}: give {form} as a file that is not compressed again")
    try:
        with files.opened(location) as stream:
            if form == PARQUET:
                yield import_extra("pyarrow.parquet", problem).ParquetFile(stream)
            else:
                yield _ArrowFile(import_extra("pyarrow.ipc", problem), stream)
    except pyarrow.ArrowException as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{location}: is not a complete {form} file ({reason})") from None
