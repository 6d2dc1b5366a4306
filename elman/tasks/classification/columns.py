"""Find the columns of a table that contain the text and the label.

Takes a table, returns a `Layout`; called by the reader of labelled texts. Columns are found by the
names that the user gave, by common names in the header in any order, or by their content: a label
has few different values, a text has many. Ambiguous tables are refused, never guessed.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

from elman.errors import InputError
from elman.text.tables import TextTable

LABELS = (
    *("label", "labels", "class", "category", "sentiment", "gold_label", "target"),
    *("intent", "emotion", "topic", "polarity", "rating", "stars"),
)
FIRST = (
    *("text", "sentence", "premise", "sentence1", "question", "review"),
    *("utterance", "phrase", "tweet", "comment", "message", "content", "query"),
)
SECOND = ("hypothesis", "sentence2", "passage", "answer", "text2")
WEIGHTS = ("weight", "sample_weight")
_IDENTIFIERS = ("id", "idx", "index", "nr", "no", "number", "row")
_KNOWN = {"text": FIRST, "text2": SECOND, "label": LABELS, "weight": WEIGHTS}
_NAME = re.compile(r"[^\W\d][\w-]*( [\w-]+)?")  # a word or two, as headers have them
_IDENTIFIER = re.compile(r"\w*\d+\w*")
_FEWEST_ROWS = 4  # with fewer rows the content of columns is not used
_SHOWN = 60  # characters of a first row in a message
_HOW = "--columns text=…,label=…"


@dataclass(frozen=True)
class Layout:
    """The places of text and label in a row; JSON lines may list several keys, the first counts.

    `text2`: the second text of a pair, () if there is none.
    """

    text: tuple[int, ...]
    text2: tuple[int, ...]
    label: tuple[int, ...]
    names: list[str]  # of the columns; "1", "2" … where there is no header
    header: bool  # whether the first row names the columns
    unused: str = ""  # why a column is not read
    weight: tuple[int, ...] = ()  # of the example in training, () if there is none

    def columns(self) -> dict[str, str]:
        """Each role with the name or number of its column."""
        texts = {"text": self.text, "text2": self.text2}
        places = {**texts, "label": self.label, "weight": self.weight}
        return {role: self.names[found[0]] for role, found in places.items() if found}

    def describe(self, labels: int) -> str:
        """One line for the user: `2 columns, text = utterance, label = intent, 77 labels`."""
        plain = "" if self.header else "column "
        read = [f"{role} = {plain}{column}" for role, column in self.columns().items()]
        how = "" if self.header else " without a header"
        label = "label" if labels == 1 else "labels"
        width = f"{len(self.names)} columns{how}"
        return ", ".join([width, *read, f"{labels:,} {label}"]) + self.unused


def find_layout(table: TextTable, columns: dict[str, str], *, labelled: bool = True) -> Layout:
    """Find the text and the label; `labelled`: whether a label is required."""
    if columns:
        return _named_by_user(table, columns, labelled)
    names = table.names or [str(cell).strip() for cell in table.rows[0][1]]
    known = _known_places(names)
    if table.names:
        return _of_json(table, known)
    if known["text"] and (known["label"] or not labelled):
        return _layout(known, names, header=True)
    if table.width == 1 and not labelled:
        return Layout((0,), (), (), ["1"], header=False)
    return _by_content(table, names, known)


def fits(table: TextTable, columns: dict[str, str]) -> bool:
    """Whether a table has the columns of an earlier table."""
    names = table.names or [str(cell).strip() for cell in table.rows[0][1]]
    columns = {role: column for role, column in columns.items() if role != "weight"}
    if all(column in names for column in columns.values()):
        return True
    known = _known_places(names)
    numbers = all(column.isdigit() for column in columns.values())
    return (
        numbers
        and not table.names
        and not (known["text"] and known["label"])
        and max(map(int, columns.values())) <= table.width
    )


def about_separators(labels: Sequence[str]) -> str:
    """What to do about labels that look like several in one; "" if most do not."""
    fewest = max(_FEWEST_ROWS, len(labels) / 2)
    lists = [label for label in labels if label.startswith("[") and label.endswith("]")]
    if len(lists) > fewest:
        return (
            f"most labels look like lists, such as {lists[0]}; if they are several labels, write "
            'JSON lines with "labels": ["a", "b"]'
        )
    for separator in ("|", ";", ","):
        found = [label for label in labels if separator in label.strip(separator)]
        if len(found) > fewest:
            return (
                f"most labels contain {separator!r}, such as {found[0]!r}; if they are several "
                f'labels, train with --set "text.label_separator={separator}"'
            )
    return ""


# Names --------------------------------------------------------------------------------------------


def _known_places(names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """For each role the columns with a common name, most common first."""
    lower = [name.strip().lower() for name in names]
    return {
        role: tuple(lower.index(name) for name in known if name in lower)
        for role, known in _KNOWN.items()
    }


def _layout(places: dict[str, tuple[int, ...]], names: list[str], *, header: bool) -> Layout:
    one = {role: found[:1] for role, found in places.items()}
    return Layout(one["text"], one["text2"], one["label"], names, header, weight=one["weight"])


def _of_json(table: TextTable, known: dict[str, tuple[int, ...]]) -> Layout:
    """Keys may differ from line to line; without common names, two keys are told apart."""
    if known["text"] or known["label"] or table.width != 2:
        places = (known["text"], known["text2"], known["label"])
        return Layout(*places, table.names, True, weight=known["weight"])
    return _told_apart(table.rows, table.names, header=True)


def _named_by_user(table: TextTable, columns: dict[str, str], labelled: bool) -> Layout:
    first = [str(cell).strip() for cell in table.rows[0][1]]
    names = table.names or first
    find = _finder(names)
    header = bool(table.names)
    columns = _without_missing_weight(columns, names, table.width)
    if all(find(column) is not None for column in columns.values()):
        places = {role: find(column) for role, column in columns.items()}
        header = True
    elif not table.names and all(_is_number(column, table.width) for column in columns.values()):
        places = {role: int(column) - 1 for role, column in columns.items()}
        label = places.get("label")
        header = label is not None and _is_header(first, table.rows[1:], label)
        names = first if header else _numbers(table.width)
    else:
        missing = next(c for c in columns.values() if find(c) is None)
        there = ", ".join(names) if table.names or _all_names(first) else f"1 to {table.width}"
        raise InputError(
            f"{table.document.name}: has no column {missing!r}; it has {there}; name columns with "
            f"{_HOW}"
        )
    found: dict[str, tuple[int, ...]] = {
        role: (place,) for role, place in places.items() if place is not None
    }
    return _completed(table, found, names, header, labelled)


def _without_missing_weight(
    columns: dict[str, str], names: Sequence[str], width: int
) -> dict[str, str]:
    """Weights are for training; tables for validation and test may lack the column."""
    weight = columns.get("weight", "")
    if _finder(names)(weight) is not None or _is_number(weight, width):
        return columns
    return {role: column for role, column in columns.items() if role != "weight"}


def _completed(
    table: TextTable,
    found: dict[str, tuple[int, ...]],
    names: list[str],
    header: bool,
    labelled: bool,
) -> Layout:
    """The columns that the user did not name: those with common names, or the only other one."""
    known = _known_places(names) if header else {"text": (), "label": ()}
    taken = {place for places in found.values() for place in places}
    free = [place for place in range(len(names)) if place not in taken]
    for role in ("text", "label"):
        if role in found or (role == "label" and not labelled):
            continue
        well_known = [place for place in known[role] if place in free]
        if not well_known and len(free) != 1:
            raise InputError(
                f"{table.document.name}: it is not clear which of the {len(names)} columns "
                f"contains the {role} ({', '.join(names)}); name it too: {_HOW}"
            )
        found[role] = ((well_known or free)[0],)
        free.remove(found[role][0])
    return _layout({"text2": (), "label": (), "weight": (), **found}, names, header=header)


def _finder(names: Sequence[str]) -> Callable[[str], int | None]:
    """Find a column by its name, exactly or ignoring case."""
    lower = [name.lower() for name in names]

    def find(name: str) -> int | None:
        if name in names:
            return names.index(name)
        return lower.index(name.lower()) if name.lower() in lower else None

    return find


def _is_number(column: str, width: int) -> bool:
    return column.isdigit() and 1 <= int(column) <= width


def _numbers(width: int) -> list[str]:
    return [str(number) for number in range(1, width + 1)]


def about_zeros_and_ones(table: TextTable) -> str:
    """What to do about a table that has a column of 0 and 1 for every label; "" if it has none."""
    first, *rows = table.rows
    names = [str(cell).strip() for cell in first[1]]
    found = [
        name for place, name in enumerate(names) if rows and {*_values(rows, place)} <= {"0", "1"}
    ]
    if table.names or len(found) < 2 or not _all_names(found):
        return ""
    shown = ", ".join(found[:3]) + ", …" * (len(found) > 3)
    return (
        f"has no column of labels, but {len(found)} columns of 0 and 1 ({shown}); if each is a "
        f"label, write the labels of a text into one column, like {found[0]}|{found[1]}, and train "
        'with --set "text.label_separator=|"'
    )


# Content ------------------------------------------------------------------------------------------


def _by_content(table: TextTable, first: list[str], known: dict[str, tuple[int, ...]]) -> Layout:
    """The layout of a table without a header, or with unknown names."""
    width, rows = table.width, table.rows
    if width == 1:
        raise InputError(
            f"{table.document.name}: has one column; give a text and its label on every line"
        )
    if known["weight"] and width > 2 and _all_names(first):
        raise InputError(
            f"{table.document.name}: has a column of weights, but its text or label has no common "
            f"name ({', '.join(first)}); name all three: --columns text=…,label=…,weight=…"
        )
    half_known = bool(known["text"] or known["label"]) and _all_names(first)
    if width > 3:
        if half_known and known["label"]:
            return _longest_is_text(rows[1:], first, known["label"][0])
        if hint := about_zeros_and_ones(table):
            raise InputError(f"{table.document.name}: {hint}")
        shown = ", ".join(first)
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
        raise InputError(
            f"{table.document.name}: has {width} columns and no header that names the text and the "
            f"label (first row: {shown}); name them with {_HOW} (names or numbers)"
        )
    layout = _told_apart(rows[1:] or rows, first, header=True)
    (label,) = layout.label
    if half_known and width == 2:
        label = known["label"][0] if known["label"] else 1 - known["text"][0]
        return Layout((1 - label,), (), (label,), first, True)
    if half_known and known["label"]:
        return _told_apart(rows[1:], first, header=True, label=known["label"][0])
    if _is_header(first, rows[1:], label):
        return layout
    found = _told_apart(rows, _numbers(width), header=False)
    if not _may_be_header(first, rows[1:]):
        return found
    names = ",".join(f"{role}={first[int(number) - 1]}" for role, number in found.columns().items())
    hint = f"; the first row ({', '.join(first)}) is read as an example; if it is a header, name"
    return replace(found, unused=f"{found.unused}{hint} the columns: --columns {quote(names)}")


def _longest_is_text(rows: Sequence[tuple[int, list[Any]]], names: list[str], label: int) -> Layout:
    others = [place for place in range(len(names)) if place != label]
    text = max(others, key=lambda place: _mean_length(_values(rows, place)))
    return Layout((text,), (), (label,), names, True)


def _told_apart(
    rows: Sequence[tuple[int, list[Any]]],
    names: list[str],
    *,
    header: bool,
    label: int | None = None,
) -> Layout:
    """Two or three columns by their content: the label is the last unless another fits better."""
    places = [place for place in range(len(names)) if any(_values(rows, place))]
    empty = [names[place] or str(place + 1) for place in range(len(names)) if place not in places]
    if len(places) < 2:
        places, empty = [*range(len(names))], []
    label = _label_place(rows, places) if label is None else label
    texts = [place for place in places if place != label]
    unused = f"; column {empty[0]} is empty and is not read" if empty else ""
    if len(texts) == 2:
        identifiers = [
            place for place in texts if _is_identifier(names[place], _values(rows, place))
        ]
        if len(identifiers) == 1:
            texts.remove(identifiers[0])
            unused = f"; column {names[identifiers[0]]} looks like row numbers and is not read"
    second = tuple(texts[1:])
    return Layout((texts[0],), second, (label,), names, header, unused)


def _label_place(rows: Sequence[tuple[int, list[Any]]], places: Sequence[int]) -> int:
    """The last column, or one with clearly fewer different values, or with fewer and shorter."""
    *others, last = places
    values = {place: _values(rows, place) for place in places}
    if len(rows) < _FEWEST_ROWS:
        words = [_mean_words(column) for column in values.values()]
        short = len(places) == 2 and words[0] <= 1 < words[1]
        return others[0] if short else last
    counts = {place: len({*column}) for place, column in values.items()}
    lengths = {place: _mean_length(column) for place, column in values.items()}
    clearly = 2 if len(places) == 2 else 10
    fewer = [
        place
        for place in others
        if counts[place] > 1
        and (
            counts[place] * clearly <= counts[last]
            or (counts[place] < counts[last] and lengths[place] < lengths[last])
        )
    ]
    return min(fewer, key=lambda place: counts[place], default=last)


def _is_header(first: Sequence[str], rows: Sequence[tuple[int, list[Any]]], label: int) -> bool:
    """Whether a first row is a header: its names are not labels, and the labels below repeat."""
    labels = _values(rows, label)
    if len(rows) < _FEWEST_ROWS or not _all_names(first) or first[label] in labels:
        return False
    texts = [place for place in range(len(first)) if place != label]
    longer = any(
        _mean_words(_values(rows, place)) >= 2
        or _mean_length(_values(rows, place)) >= 3 * len(first[place])
        for place in texts
    )
    return len({*labels}) * 2 <= len(labels) and longer


def _may_be_header(first: Sequence[str], rows: Sequence[tuple[int, list[Any]]]) -> bool:
    """Whether a first row could be a header, although the labels below do not show it."""
    if len(rows) < _FEWEST_ROWS or not _all_names(first):
        return False
    columns = [*zip(first, (_values(rows, place) for place in range(len(first))), strict=True)]
    if any(all(map(str.isdigit, values)) for _, values in columns):
        return True
    longer = any(_mean_length(values) >= 3 * len(name) for name, values in columns)
    return longer and not any(name in values for name, values in columns)


def _all_names(cells: Sequence[str]) -> bool:
    return len({*cells}) == len(cells) and all(_NAME.fullmatch(cell) for cell in cells)


def _is_identifier(name: str, values: Sequence[str]) -> bool:
    distinct = len({*values}) == len(values) >= _FEWEST_ROWS
    said = name.strip().lower() in _IDENTIFIERS
    return (distinct or said) and all(_IDENTIFIER.fullmatch(value) for value in values)


def _values(rows: Sequence[tuple[int, list[Any]]], place: int) -> list[str]:
    return [str(row[place]).strip() for _, row in rows]


def _mean_length(values: Sequence[str]) -> float:
    return sum(map(len, values)) / max(len(values), 1)


def _mean_words(values: Sequence[str]) -> float:
    return sum(len(value.split()) for value in values) / max(len(values), 1)
