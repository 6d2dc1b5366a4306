"""Stimuli in a table: one sentence or one word per row.

    item  condition  sentence                      item  condition  word
    1     plural     boys who Mary chases walk .   1     plural     boys
    1     singular   boy who Mary chases walks .   1     plural     who

Takes a document (tab- or comma-separated, or JSON lines) or columns, gives a `Stimuli`: the text of
every row and the rows of each sentence. Called by `tasks/language_modelling/stimuli.py`. The first
line names the columns. Words belong to one sentence as long as the columns that identify it (item,
condition …) stay the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from elman.errors import InputError, nearest
from elman.text.reader import Document
from elman.text.tables import read_table, table_separator

_SENTENCE = ("sentence", "text", "stimulus", "stimuli")
_WORD = ("word", "token", "region", "content")
_IDENTIFY = (
    "item", "item_id", "item_number", "condition", "sentence_id", "sentence_number", "sent_id",
    "list", "passage", "story", "trial", "line",
)  # fmt: skip
_FEWEST_FOR_ORDER = 20  # rows: fewer may be in alphabetical order by chance
TAB = "\t"


@dataclass(frozen=True)
class Stimuli:
    """The rows of a table, and the sentences in it."""

    name: str
    names: list[str]  # of the columns
    rows: list[list[Any]]
    cells: list[str]  # the column of text, row by row; "" where there is none
    sentences: list[list[int]]  # the rows of each sentence
    per_word: bool
    separator: str = TAB  # between the cells of the file

    def refuse_names(self, names: Sequence[str]) -> None:
        """Refuse new columns that the table has already."""
        for name in names:
            if name in self.names:
                raise InputError(f"{self.name}: already has a column {name!r}; rename or remove it")


def read_stimuli(document: Document, *, column: str = "", by: Sequence[str] = ()) -> Stimuli:
    """The stimuli of a document; `column` holds the text, `by` the columns that identify sentences.

    By default, the text is the first column called sentence, text or stimulus, else word or token.
    Columns called item, condition, sentence_id and the like identify sentences.
    """
    separator = TAB if document.name.endswith(".tsv") else table_separator(document) or TAB
    if separator == TAB:  # quotes are text, and empty lines are errors
        names, *rows = [line.split(TAB) for line in document.text.removesuffix("\n").split("\n")]
        _refuse_ragged(document.name, names, rows)
        return find_stimuli(document.name, names, rows, column=column, by=by)
    table = read_table(document, separator)
    rows = [row for _, row in table.rows]
    names = table.names or [str(name) for name in rows.pop(0)]
    plain = separator if separator in (",", ";") else TAB  # JSON lines become a table of tabs
    return find_stimuli(document.name, names, rows, column=column, by=by, separator=plain)


def _refuse_ragged(file: str, names: list[str], rows: list[list[str]]) -> None:
    for number, row in enumerate(rows, 2):
        if len(row) != len(names):
            raise InputError(
                f"{file}, line {number}: has {len(row)} columns instead of {len(names)}"
            )


def find_stimuli(
    name: str,
    names: list[str],
    rows: list[list[Any]],
    *,
    column: str = "",
    by: Sequence[str] = (),
    separator: str = TAB,
) -> Stimuli:
    """Find the text and the sentences of a table; a missing value (None) has no text."""
    if not rows:
        raise InputError(f"{name}: has a header but no rows")
    place, per_word = _column_of_text(name, names, column, by)
    # NA, nan and None are words. Only an empty cell has no text.
    cells = ["" if row[place] is None else str(row[place]).strip() for row in rows]
    if not any(cells):
        raise InputError(f"{name}: the column {names[place]!r} holds no text")
    sentences = [[number] for number in range(len(rows))]
    if per_word:
        places = _places(name, names, by)
        sentences = _grouped(rows, places)
        identifiers = {tuple(str(rows[own[0]][place]) for place in places) for own in sentences}
        _refuse_disorder(name, cells, sentences, len(identifiers))
    return Stimuli(name, names, rows, cells, sentences, per_word, separator)


def _column_of_text(
    file: str, names: list[str], column: str, by: Sequence[str]
) -> tuple[int, bool]:
    """The column of the text, and whether it has one word per row."""
    lower = [name.strip().lower() for name in names]
    if column:
        if column not in names:
            raise InputError(f"{file}: has no column {column!r}; {nearest(column, names)}")
        place = names.index(column)
        return place, bool(by) or lower[place] in _WORD
    for known, per_word in ((_SENTENCE, False), (_WORD, True)):
        if found := [lower.index(name) for name in known if name in lower]:
            return found[0], per_word
    raise InputError(
        f"{file}: no column is called {', '.join(_SENTENCE[:2])} or {_WORD[0]}; "
        f"name the one with the text: --column (there are {', '.join(names)})"
    )


def _places(file: str, names: list[str], by: Sequence[str]) -> list[int]:
    """The columns that identify a sentence."""
    for name in by:
        if name not in names:
            raise InputError(f"{file}: has no column {name!r}; {nearest(name, names)}")
    found = [
        place
        for place, name in enumerate(names)
        if (name in by if by else name.strip().lower() in _IDENTIFY)
    ]
    if not found:
        raise InputError(
            f"{file}: cannot tell where a sentence ends; name the columns that stay the same "
            f"within a sentence: --by {names[0]}"
        )
    return found


def _refuse_disorder(
    file: str, cells: list[str], sentences: list[list[int]], identifiers: int
) -> None:
    """Refuse a table that is sorted by word, or whose sentences are scattered; `identifiers`: the
    number of different sentences by their columns.
    """
    words = [cell.casefold() for cell in cells]
    falling = sum(one > next_one for one, next_one in pairwise(words))
    if len(words) >= _FEWEST_FOR_ORDER and falling <= 0.02 * len(words):
        raise InputError(
            f"{file}: is sorted by word, so its words are not in sentence order; "
            "sort it by sentence and position"
        )
    alone = len(sentences) > 0.9 * len(words)
    if alone and (len(words) >= _FEWEST_FOR_ORDER or len(sentences) >= 2 * identifiers > 2):
        raise InputError(
            f"{file}: nearly every row begins a new sentence, so the rows are not in text order; "
            "sort them by sentence and position, or name the columns that stay the same within a "
            "sentence: --by"
        )


def _grouped(rows: list[list[Any]], places: list[int]) -> list[list[int]]:
    """Group neighbouring rows that agree in these columns."""
    sentences: list[list[int]] = []
    last: list[Any] | None = None
    for number, row in enumerate(rows):
        key = [row[place] for place in places]
        if key != last:
            sentences.append([])
        sentences[-1].append(number)
        last = key
    return sentences
