"""Detect the shape of a file: running text, or a table, JSON or annotation that contains text.

Takes a document, gives the format's name, or None for running text; called before a language model
reads a file. The content decides; the file name only changes how many rows are needed. A format is
recognised only if every line has the same form, so that prose with tabs or commas, verse, source
code and Markdown stay text.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from elman.errors import InputError
from elman.text.files import bare_name
from elman.text.reader import Document

_SAMPLE = 100_000  # characters
_ROWS = 300
_FEWEST = 5  # rows that make a table, unless the file name says that it is one
_ALIKE = 0.95  # share of rows that must have the most common number of cells
_TIGHT = 0.1  # largest share of cells that begin with a space: in prose, all do after a comma
_CONLLU_COLUMNS = 10
_JSON_START = re.compile(r'\s*[\[{]\s*(\{\s*)?("[^"\n]*"\s*[:,\]]|\})')
_TAG = re.compile(r"[^a-z\s\d]{1,9}|[BIESUL]-\S+|[A-Z]+[$_:=.|-].*|-[A-Z]{3}-")
_CONLLU_WORD = re.compile(r"\d+([-.]\d+)?")


def refuse_other_shapes(document: Document) -> None:
    """Refuse a file that is not running text; the message shows how to extract the text."""
    shape = looks_like(document)
    if shape is None:
        return
    name = document.name
    raise InputError(
        f"{name}: looks like {shape}, not running text; the model would learn its format. "
        f"{_remedy(shape, name)}; or train with --set text.plain=true to read any file as it is"
    )


def _remedy(shape: str, name: str) -> str:
    if shape == "CoNLL-U":
        get = f"grep '^# text = ' {shlex.quote(name)} | cut -c10- > text.txt"
        return f"Write its sentences to a separate file ({get})"
    if shape == "JSON lines":
        return "Name the field with the text: --columns text=NAME"
    if shape == "JSON":
        return "Write its text to a separate file"
    if shape.startswith("CoNLL"):
        return "Write its sentences to a separate file, or train a tagger with it"
    return "Name the column with the text, or its number: --columns text=NAME"


def looks_like(document: Document) -> str | None:
    """The format of a file that is not running text."""
    suffix = Path(bare_name(document.name)).suffix.lower()
    sample = _sample(document.text)
    if _is_json_lines(sample):
        return "JSON lines"
    if _JSON_START.match(sample) and document.text.rstrip()[-1:] in ("}", "]"):
        return "JSON"
    lines = [line for line in sample.split("\n")[:_ROWS] if line.strip()]
    if _is_conllu(lines):
        return "CoNLL-U"
    if _is_columns(sample):
        return "CoNLL columns, one word and its tags per line"
    fewest = 2 if suffix in (".tsv", ".csv") else _FEWEST
    if width := _tab_width(lines, fewest):
        return f"tab-separated columns ({width} per line)"
    if separator := csv_separator(document.text, fewest, spaced=suffix == ".csv"):
        return f"a CSV table ({_csv_width(sample, separator)} columns between {separator!r})"
    return None


def is_table(document: Document) -> bool:
    """Whether a document looks like rows with columns or fields."""
    shape = looks_like(document)
    return shape is not None and shape.startswith(("JSON lines", "tab-", "a CSV table"))


def _sample(text: str) -> str:
    """Whole lines from the beginning."""
    if len(text) <= _SAMPLE:
        return text
    end = text.rfind("\n", 0, _SAMPLE)
    return text[: end if end > 0 else _SAMPLE]


def _is_json_lines(sample: str) -> bool:
    lines = [line for line in sample.split("\n")[:_ROWS] if line.strip()]
    return bool(lines) and sum(map(_is_object, lines)) >= _ALIKE * len(lines)


def _is_object(line: str) -> bool:
    if not line.lstrip().startswith("{"):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except (json.JSONDecodeError, RecursionError):
        return False


def _is_conllu(lines: list[str]) -> bool:
    """Whether lines are words in ten columns; copied from a page, they have spaces between them."""
    rows = [
        line.split("\t") if "\t" in line else line.split()
        for line in lines
        if not line.startswith("#")
    ]
    words = [row for row in rows if len(row) == _CONLLU_COLUMNS and _CONLLU_WORD.fullmatch(row[0])]
    return len(words) >= max(2, _ALIKE * len(rows))


def blocks_of_lines(text: str, *, comments: bool) -> Iterator[tuple[int, list[str]]]:
    """The lines between blank lines, and the number of the first one.

    `comments`: lines before them that begin with `#` and have no tab are left out, as in CoNLL-U; a
    word `#` has columns after it.
    """
    block: list[str] = []
    first = 1
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            if block:
                yield first, block
            block = []
        elif not (comments and not block and line.startswith("#") and "\t" not in line):
            if not block:
                first = number
            block.append(line)
    if block:
        yield first, block


def _is_columns(sample: str) -> bool:
    """Whether every line has a word and the same number of tags, sentences between blank lines."""
    tabs = "\t" in sample
    blocks = [block for _, block in blocks_of_lines(sample, comments=tabs)]
    if len(blocks) < 3:
        return False
    lines = [line for block in blocks for line in block][:_ROWS]
    rows = [line.rstrip().split("\t") if tabs else line.split() for line in lines]
    width, count = Counter(map(len, rows)).most_common(1)[0]
    if width < 2 or count < _ALIKE * len(rows) or len(rows) < 2 * _FEWEST:
        return False
    tags = Counter(row[-1] for row in rows)
    tagged = sum(n for tag, n in tags.items() if _TAG.fullmatch(tag))
    # Sentences of equal length all end in a full stop; tags have letters.
    lettered = any(any(map(str.isalpha, tag)) for tag in tags)
    return lettered and tagged >= _ALIKE * len(rows) and len(tags) <= len(rows) / 2


def _tab_width(lines: list[str], fewest: int) -> int | None:
    """The number of tab-separated columns; a tab that indents a line does not count."""
    widths = Counter(len(line.lstrip("\t ").rstrip().split("\t")) for line in lines)
    width, count = widths.most_common(1)[0]
    alike = count >= _ALIKE * len(lines)
    return width if alike and width > 1 and len(lines) >= fewest else None


def csv_separator(text: str, fewest: int = _FEWEST, *, spaced: bool = False) -> str | None:
    """The separator of a CSV table; None if the text is not one.

    If both fit, as with decimal commas between semicolons, it is the one of the first row and of
    more columns. `spaced`: a space may follow it everywhere, as in files that are named .csv.
    """
    sample = _sample(text)
    found: dict[str, tuple[bool, bool, int]] = {}
    for separator in (",", ";"):
        rows = _csv_rows(sample, separator, whole=len(sample) == len(text))
        if len(rows) < fewest:
            continue
        width, count = Counter(map(len, rows)).most_common(1)[0]
        if width < 2 or count < _ALIKE * len(rows):
            continue
        after = [cell for row in rows for cell in row[1:]]
        tight = sum(cell[:1] == " " for cell in after) <= _TIGHT * len(after)
        ends = sum(row[-1] == "" for row in rows)  # lines that end in a comma are not a table
        if (tight or spaced) and ends < len(rows) / 2:
            found[separator] = tight, len(rows[0]) == width, width
    return max(found, key=lambda separator: found[separator], default=None)


def _csv_rows(sample: str, separator: str, *, whole: bool) -> list[list[str]]:
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=separator)
    rows = []
    try:
        for row in reader:
            if any(row):
                rows.append(row)
            if len(rows) == _ROWS:
                return rows
    except csv.Error:
        return []
    return rows if whole else rows[:-1]  # the last one may be cut inside quotes


def _csv_width(sample: str, separator: str) -> int:
    rows = _csv_rows(sample, separator, whole=True)
    return Counter(map(len, rows)).most_common(1)[0][0]
