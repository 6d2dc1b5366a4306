"""Pairs of a source and its target, for models that read one text and write another.

    a dog runs .	ein hund rennt .                    two columns with a tab between them
    {"article": "…", "summary": "…"}                    JSON lines; the settings name the fields

Takes a document, returns `Pair`s; called by the translation task. A pair keeps its place: every
line of a file is one pair, even an empty line, so outputs stay aligned with inputs. `parallel.py`
makes one document of two files; `vectors.py` reads vectors.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from elman.errors import InputError, nearest
from elman.text.file_shapes import csv_separator
from elman.text.files import bare_name
from elman.text.reader import Document
from elman.text.tables import flatten, read_json_lines, read_table
from elman.text.task_config import PairConfig


@dataclass(frozen=True)
class Pair:
    """A source, a text or vectors (S, F), and its target."""

    source: str | np.ndarray
    target: str

    @property
    def whole(self) -> bool:
        """Whether both sides are not empty."""
        text = self.source
        return bool(self.target.strip()) and (not isinstance(text, str) or bool(text.strip()))

    @property
    def source_length(self) -> int:
        """The number of words or vectors of the source."""
        return len(self.source.split()) if isinstance(self.source, str) else len(self.source)


class PairDocument(Document):
    """Pairs from several files; the text contains both sides."""

    def __init__(self, name: str, text: str, notes: list[str], pairs: list[Pair]) -> None:
        super().__init__(name, text, notes)
        self.pairs = pairs

    @classmethod
    def of(cls, name: str, pairs: list[Pair], notes: Sequence[str] = ()) -> PairDocument:
        """A document of pairs; those with an empty side are counted in its notes."""
        rows = [[pair.source, pair.target] for pair in pairs]
        text = "".join("\t".join(s for s in row if isinstance(s, str)) + "\n" for row in rows)
        return cls(name, text, [*notes, *empty_notes(pairs)], pairs)

    def sha256(self) -> str:
        """The hash of the text, including vectors if there are any."""
        digest = hashlib.sha256(self.text.encode("utf-8", "surrogatepass"))
        for pair in self.pairs:
            if not isinstance(pair.source, str):
                digest.update(np.ascontiguousarray(pair.source).tobytes())
        return digest.hexdigest()


def empty_notes(pairs: Sequence[Pair]) -> list[str]:
    """A note on pairs with an empty side."""
    empty = sum(not pair.whole for pair in pairs)
    if not empty:
        return []
    return [f"{empty:,} of {len(pairs):,} pairs have an empty side and are not trained on"]


def read_pairs(document: Document, config: PairConfig) -> list[Pair]:
    """The pairs of a document, one per line."""
    if isinstance(document, PairDocument):
        return document.pairs
    suffix = Path(bare_name(document.name)).suffix
    if suffix in (".jsonl", ".json") or document.text.lstrip().startswith("{"):
        pairs = _read_json_lines(document, config)
    elif suffix == ".csv":
        pairs = _read_csv(document, config)
    else:
        pairs = _read_columns(document, config)
    document.notes.extend(note for note in empty_notes(pairs) if note not in document.notes)
    if not any(pair.whole for pair in pairs):
        raise InputError(f"{document.name}: no line has both a source and a target; give some")
    return pairs


def _read_columns(document: Document, config: PairConfig) -> list[Pair]:
    """Read two columns, or the columns named by a header or the user."""
    rows = [line.split("\t") for line in document.text.removesuffix("\n").split("\n")]
    places, header = _places(document, rows[0], config)
    width = len(rows[0])
    pairs = []
    for number, row in enumerate(rows[header:], 1 + header):
        if row == [""]:
            row = [""] * width
        if len(row) != width:
            raise InputError(
                f"{document.name}, line {number}: has {len(row)} columns instead of {width}; "
                "put one tab between source and target"
            )
        pairs.append(Pair(row[places[0]], row[places[1]]))
    return pairs


def _read_csv(document: Document, config: PairConfig) -> list[Pair]:
    """One pair per row; a cell in quotes may contain commas and line ends."""
    table = read_table(document, csv_separator(document.text, fewest=1) or ",")
    places, header = _places(document, table.rows[0][1], config)
    rows = [row for _, row in table.rows[header:]]
    return [Pair(*(one_line(row[place]) for place in places)) for row in rows]


def _places(
    document: Document, first: list[str], config: PairConfig
) -> tuple[tuple[int, int], bool]:
    """Find source and target, and whether the first row is a header; adds a note."""
    names, width = [name.strip() for name in first], len(first)
    source = config.columns.get("source", config.source)
    target = config.columns.get("target", config.target)
    if source in names and target in names:
        _note(document, f"{width} columns, source = {source}, target = {target}")
        return (names.index(source), names.index(target)), True
    numbers = [int(name) for name in (source, target) if name.isdigit() and 1 <= int(name) <= width]
    if len(numbers) == 2:
        _note(document, f"{width} columns, source = column {source}, target = column {target}")
        return (numbers[0] - 1, numbers[1] - 1), False
    if config.columns:
        missing = source if source not in names else target
        raise InputError(
            f"{document.name}: has no column {missing!r}; its first row is {', '.join(names)}; "
            "name columns with --columns source=…,target=…"
        )
    if width != 2:
        raise InputError(
            f"{document.name}, line 1: has {width} columns; give a source and a target with a tab "
            "between them, or name their columns: --columns source=…,target=…"
        )
    if all(len(name) > 1 and name.isalpha() for name in names):  # perhaps names of columns
        columns = f"--columns source={names[0]},target={names[1]}"
        _note(document, f"the first line is read as a pair; if it is a header, add {columns}")
    return (0, 1), False


def _note(document: Document, understood: str) -> None:
    note = f"{document.name}: {understood}"
    if note not in document.notes:
        document.notes.append(note)


def _read_json_lines(document: Document, config: PairConfig) -> list[Pair]:
    pairs = []
    for where, entry in read_json_lines(document, '{"source": "…", "target": "…"}'):
        if entry is None:
            pairs.append(Pair("", ""))
            continue
        entry = flatten(entry)
        sides = (
            _field(entry, config.columns.get(side, getattr(config, side)), side, where)
            for side in ("source", "target")
        )
        pairs.append(Pair(*sides))
    return pairs


def _field(entry: dict[str, Any], name: str, side: str, where: str) -> str:
    if name not in entry:
        hint = nearest(name, map(str, entry))
        raise InputError(f"{where}: has no field {name!r}; {hint}; choose with --columns {side}=…")
    if not isinstance(entry[name], str):
        raise InputError(f"{where}: the field {name!r} is not a text; write it in quotes")
    return one_line(entry[name])


def one_line(text: str) -> str:
    """A text without line ends and tabs, since a line is one pair."""
    return " ".join(text.split()) if any(mark in text for mark in "\n\t\r") else text
