"""Stimuli in a tab-separated table: one sentence or one word per row.

    item  condition  sentence                      item  condition  word
    1     plural     boys who Mary chases walk .   1     plural     boys
    1     singular   boy who Mary chases walks .   1     plural     who

Takes a document, gives a `Stimuli`: the rows of each sentence, and a method that adds columns to
the lines. Called by `tasks/language_modelling/stimuli.py`. The first line names the columns. Words
belong to one sentence as long as the columns that identify it (item, condition …) stay the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from elman.errors import InputError, nearest
from elman.text.reader import Document

_SENTENCE = ("sentence", "text", "stimulus", "stimuli")
_WORD = ("word", "token", "region", "content")
_IDENTIFY = (
    "item", "item_id", "item_number", "condition", "sentence_id", "sentence_number", "sent_id",
    "list", "passage", "story", "trial", "line",
)  # fmt: skip
_FEWEST_FOR_ORDER = 20  # rows: fewer may be in alphabetical order by chance
NOTHING = "NA"  # a missing value in R


@dataclass(frozen=True)
class Stimuli:
    """The lines of a table, and the sentences in it."""

    name: str
    header: str
    lines: list[str]
    cells: list[str]  # the column of text, row by row; "" where there is none
    sentences: list[list[int]]  # the rows of each sentence
    per_word: bool

    def columns(self) -> list[str]:
        """The names of the columns."""
        return self.header.split("\t")

    def with_columns(self, names: Sequence[str], values: Sequence[Sequence[str]]) -> list[str]:
        """The lines with these columns appended."""
        for name in names:
            if name in self.columns():
                raise InputError(f"{self.name}: already has a column {name!r}; rename or remove it")
        rows = zip(self.lines, zip(*values, strict=True), strict=True)
        return ["\t".join([self.header, *names]), *("\t".join([line, *row]) for line, row in rows)]


def read_stimuli(document: Document, *, column: str = "", by: Sequence[str] = ()) -> Stimuli:
    """The stimuli of a document; `column` holds the text, `by` the columns that identify sentences.

    By default, the text is the first column called sentence, text or stimulus, else word or token.
    Columns called item, condition, sentence_id and the like identify sentences.
    """
    header, *lines = document.text.removesuffix("\n").split("\n")
    names = header.split("\t")
    rows = [line.split("\t") for line in lines]
    for number, row in enumerate(rows, 2):
        if len(row) != len(names):
            raise InputError(
                f"{document.name}, line {number}: has {len(row)} columns instead of {len(names)}"
            )
    if not rows:
        raise InputError(f"{document.name}: has a header but no rows")
    place, per_word = _column_of_text(document.name, names, column, by)
    # NA, nan and None are words. Only an empty cell has no text.
    cells = [row[place].strip() for row in rows]
    if not any(cells):
        raise InputError(f"{document.name}: the column {names[place]!r} holds no text")
    sentences = [[number] for number in range(len(rows))]
    if per_word:
        sentences = _grouped(rows, _places(document.name, names, by))
        _refuse_disorder(document.name, cells, sentences)
    return Stimuli(document.name, header, lines, cells, sentences, per_word)


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


def _refuse_disorder(file: str, cells: list[str], sentences: list[list[int]]) -> None:
    """Refuse a table that is sorted by word, or whose sentences are scattered."""
    words = [cell.casefold() for cell in cells]
    falling = sum(one > next_one for one, next_one in pairwise(words))
    if len(words) >= _FEWEST_FOR_ORDER and falling <= 0.02 * len(words):
        raise InputError(
            f"{file}: is sorted by word, so its words are not in sentence order; "
            "sort it by sentence and position"
        )
    if len(words) >= _FEWEST_FOR_ORDER and len(sentences) > 0.9 * len(words):
        raise InputError(
            f"{file}: nearly every row begins a new sentence, so the rows are not in text order; "
            "sort them by sentence and position, or name the columns that stay the same within a "
            "sentence: --by"
        )


def _grouped(rows: list[list[str]], places: list[int]) -> list[list[int]]:
    """Group neighbouring rows that agree in these columns."""
    sentences: list[list[int]] = []
    last: list[str] | None = None
    for number, row in enumerate(rows):
        key = [row[place] for place in places]
        if key != last:
            sentences.append([])
        sentences[-1].append(number)
        last = key
    return sentences
