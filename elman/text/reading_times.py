"""Reading times in a table: one word per row, one time per word or per word and reader.

    item  zone  word   time            subject  item  zone  word   time
    1     1     The    NA              s01      1     1     The    310
    1     2     boys   352.1           s01      1     2     boys   342
    1     3     who    340.8           s02      1     1     The    402

Takes a document and the columns that the user names, gives a `ReadingTable`: the text of every
sentence, and for every row its place in that text, its time and its subject. Called by
`tasks/language_modelling/reading_times.py`. A text is kept once, however many subjects read it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from elman.errors import InputError, nearest
from elman.text.reader import Document
from elman.text.tables import TextTable, read_table, table_separator

_ROLES = {
    "word": ("word", "token", "region", "content"),
    "time": (
        "time", "rt", "reading_time", "mean_time", "meanrt", "mean_rt", "meanitemrt", "rtime",
        "gmeanitemrt", "duration", "first_pass", "gaze_duration", "total_time",
    ),
    "position": ("position", "zone", "word_number", "word_position", "word_id", "index"),
    "subject": ("subject", "subject_id", "participant", "participant_id", "workerid", "reader"),
    "frequency": (),  # never guessed: such a column may hold counts, ranks or logarithms
    "log_frequency": (),
    "sentence": (
        "item", "item_id", "item_number", "condition", "sentence_id", "sentence_number", "sent_id",
        "list", "passage", "story", "text_id", "trial", "line",
    ),
}  # fmt: skip
ROLES = tuple(_ROLES)
_MISSING = frozenset({"", "na", "nan", "none", "null", "."})


@dataclass(frozen=True)
class ReadingTime:
    """A row of the table."""

    line: int  # in the file
    sentence: int  # which text
    place: int  # which word of it
    time: float  # NaN where there is none
    subject: str  # "" without subjects
    log_frequency: float  # NaN without such a column


@dataclass(frozen=True)
class ReadingTable:
    """The texts and the rows of a table."""

    name: str
    columns: dict[str, str]  # the column of each role
    identifiers: list[str]  # of each sentence, as the table has them
    sentences: list[list[str]]  # the words of each
    positions: list[list[int]]  # of each word; they skip words that the table lacks
    rows: list[ReadingTime]

    @property
    def has_subjects(self) -> bool:
        """Whether the rows name the reader."""
        return "subject" in self.columns

    @property
    def has_frequencies(self) -> bool:
        """Whether a column gives the frequency of each word."""
        return "frequency" in self.columns or "log_frequency" in self.columns

    def notes(self) -> list[str]:
        """Words that the models cannot see because the table lacks them."""
        late = sum(places[0] > 1 for places in self.positions)
        gaps = sum(places[-1] - places[0] + 1 - len(places) for places in self.positions)
        found = []
        if late:
            found.append(
                f"{late:,} of {len(self.positions):,} texts begin after position 1: the models do "
                "not see the words before"
            )
        if gaps:
            found.append(f"{gaps:,} positions inside the texts have no row: their words are unseen")
        return found


def read_reading_times(document: Document, columns: Mapping[str, str]) -> ReadingTable:
    """The texts and times of a table; `columns` names the column of a role where it is not plain.

    Several columns identify a sentence together: sentence=story+paragraph.
    """
    table, names = _with_header(document)
    places = _find_columns(document.name, names, columns)
    sentences: dict[tuple[str, ...], dict[int, str]] = {}
    rows, last, ended = [], None, set()
    for line, cells in table.rows:
        cells = [str("" if cell is None else cell).strip() for cell in cells]
        # Spreadsheets that separate cells by ; write 312,5 for 312.5.
        numbers = [cell.replace(",", ".") for cell in cells] if table.separator == ";" else cells
        key = tuple(cells[place] for place in places["sentence"])
        subject = cells[places["subject"][0]] if "subject" in places else ""
        if "position" in places:
            position = _whole(table.where(line), numbers[places["position"][0]], "position")
        else:
            position = 1 if (subject, key) != last else position + 1
            if (subject, key) != last and (subject, key) in ended:
                raise InputError(
                    f"{table.where(line)}: sentence {' '.join(key)} begins a second time; sort the "
                    "rows by sentence, or name a column of positions: --columns position=…"
                )
            ended.add(last := (subject, key))
        word = cells[places["word"][0]]
        if not word:
            continue
        known = sentences.setdefault(key, {}).setdefault(position, word)
        if known != word:
            raise InputError(
                f"{table.where(line)}: sentence {' '.join(key)} has {word!r} and {known!r} at "
                f"position {position}; give a column that tells them apart: --columns "
                "sentence=…+…, or position=…"
            )
        where = table.where(line)
        time = _number(where, numbers[places["time"][0]], "time")
        rows.append((line, key, position, time, subject, _log_frequency(where, numbers, places)))
    if not rows:
        raise InputError(f"{document.name}: the column {names[places['word'][0]]!r} has no words")
    keys = {key: number for number, key in enumerate(sentences)}
    ordered = [sorted(words) for words in sentences.values()]
    index = [{position: n for n, position in enumerate(one)} for one in ordered]
    return ReadingTable(
        document.name,
        {role: "+".join(names[place] for place in found) for role, found in places.items()},
        [" ".join(key) for key in keys],
        [[words[p] for p in one] for words, one in zip(sentences.values(), ordered, strict=True)],
        ordered,
        [
            ReadingTime(line, keys[key], index[keys[key]][position], time, subject, often)
            for line, key, position, time, subject, often in rows
        ],
    )


def _with_header(document: Document) -> tuple[TextTable, list[str]]:
    """The rows below the header, and the names in it."""
    separator = table_separator(document)
    if separator is None:
        raise InputError(
            f"{document.name}: is not a table; give columns separated by tabs or commas, with a "
            "header"
        )
    table = read_table(document, separator)
    if table.names:
        return table, table.names
    names = [str(name).strip() for name in table.rows[0][1]]
    if len(table.rows) < 2:
        raise InputError(f"{document.name}: has a header but no rows")
    return TextTable(document, separator, names, table.rows[1:]), names


def _find_columns(
    file: str, names: Sequence[str], columns: Mapping[str, str]
) -> dict[str, list[int]]:
    """The places of the columns of each role."""
    lower = [name.lower() for name in names]
    found: dict[str, list[int]] = {}
    for role, known in _ROLES.items():
        if role in columns:
            parts = columns[role].split("+") if role == "sentence" else [columns[role]]
            found[role] = [_column(file, names, part.strip()) for part in parts]
        elif role == "sentence":
            found[role] = [place for place, name in enumerate(lower) if name in known]
        elif place := [lower.index(name) for name in known if name in lower]:
            found[role] = place[:1]
        if role in ("word", "time", "sentence") and not found.get(role):
            raise InputError(
                f"{file}: which column is the {role}? Name it: --columns {role}=NAME "
                f"(there are {', '.join(names)})"
            )
    return found


def _log_frequency(where: str, cells: list[str], places: dict[str, list[int]]) -> float:
    """As the column gives it, or of its count; NaN without such a column."""
    if "log_frequency" in places:
        return _number(where, cells[places["log_frequency"][0]], "log_frequency")
    if "frequency" not in places:
        return math.nan
    count = _number(where, cells[places["frequency"][0]], "frequency")
    if count < 0:
        raise InputError(
            f"{where}: the frequency {count:g} is below 0; give counts, or name the column as "
            "--columns log_frequency=…"
        )
    return math.log1p(count)


def _column(file: str, names: Sequence[str], name: str) -> int:
    if name in names:
        return names.index(name)
    raise InputError(f"{file}: has no column {name!r}; {nearest(name, names)}")


def _whole(where: str, cell: str, role: str) -> int:
    number = _number(where, cell, role)
    if math.isnan(number) or number != int(number):
        raise InputError(f"{where}: the {role} {cell!r} is not a whole number")
    return int(number)


def _number(where: str, cell: str, role: str) -> float:
    """A number; NaN where there is none."""
    if cell.lower() in _MISSING:
        return math.nan
    try:
        number = float(cell)
    except ValueError:
        raise InputError(
            f"{where}: the {role} {cell!r} is not a number; write NA for none"
        ) from None
    if math.isinf(number):
        raise InputError(f"{where}: the {role} is infinite; write NA for none")
    return number
