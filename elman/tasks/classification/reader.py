"""Texts with a label: TSV, CSV, JSON lines, a label before each line, or labelled trees.

    text	label                 {"text": "…", "label": "pos"}            1 a stirring , funny …
    good film	pos             {"premise": …, "hypothesis": …, "label": …}    (3 (2 The) (4 Rock))

Takes a document, returns `Example`s; called by the tasks. A pair of texts is an example with two.
One folder or list per label comes as JSON lines (`text/label_folders.py`, `text/label_lists.py`).

A text is split at white space if it is already tokenized, otherwise like raw words:

    a film , well made .      tokenized: punctuation is separated by spaces
    A film, well made.        raw: split as in `raw_words.py`, without the white space

The training text is judged as a whole, so all of a raw text is split in the same way. If it is
tokenized, each later text is checked again, so that users can type normally.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from elman.errors import InputError
from elman.tasks.classification.columns import (
    FIRST,
    LABELS,
    Layout,
    about_separators,
    find_layout,
    fits,
)
from elman.tasks.classification.weights import read_weight
from elman.text import guess_tokenizer
from elman.text.reader import Document
from elman.text.tables import TextTable, read_table, table_separator

SEPARATOR = "|"  # between the labels of a printed text, unless the files have another
_KNOWN_TEXTS, _KNOWN_LABELS = ", ".join(FIRST[:3]), ", ".join(LABELS[:3])
_HOW = "give its column with --columns text=…,label=…"
FASTTEXT = "__label__"  # before every label of a line
_TREE = re.compile(r"\(|\)|[^\s()]+")
# Punctuation at the end of a word; full stops only after lower case, because of "Mr."


@dataclass(frozen=True)
class Example:
    """One text, or a pair, and its label; "" if it is unknown."""

    texts: tuple[str, ...]
    label: str = ""
    phrases: tuple[Example, ...] = ()  # of a tree, every node under the root
    weight: float = 1.0  # in training
    labels: tuple[str, ...] | None = None  # where a text may have several or none; else None

    @property
    def all_labels(self) -> tuple[str, ...]:
        """Its label, or all of several."""
        if self.labels is not None:
            return self.labels
        return (self.label,) if self.label else ()


def read_labelled(
    document: Document,
    *,
    phrases: bool = False,
    columns: dict[str, str] | None = None,
    label_separator: str = "",
) -> list[Example]:
    """Read the examples of a document in any supported format.

    `phrases`: also read the phrases of trees; `columns`: the columns of text and label, such as
    {"text": "utterance", "label": "intent"}; `label_separator`: between several labels of a cell.
    The notes of the document report how it was read.
    """
    separator = table_separator(document)
    if separator is not None:
        table = read_table(document, separator)
        examples = _read_table(table, find_layout(table, columns or {}), label_separator)
    elif label_separator:
        raise InputError(
            f"{document.name}: is not a table; text.label_separator needs a .tsv, .csv or .jsonl "
            "file"
        )
    elif columns:
        raise InputError(
            f"{document.name}: is not a table and has no columns; leave out --columns, or give a "
            ".tsv, .csv or .jsonl file"
        )
    elif re.match(r"\s*\(\S+ \(", document.text):
        examples = _read_trees(document, phrases)
    else:
        examples = _read_label_first(document)
    if not examples:
        raise InputError(f"{document.name}: has no examples; give a text and its label per line")
    return examples


def columns_of(document: Document, columns: dict[str, str]) -> dict[str, str]:
    """The columns of a table; {} if it is not a table or has common names.

    They are stored so that validation and test tables are read in the same way.
    """
    separator = table_separator(document)
    if separator is None:
        return {}
    return find_layout(read_table(document, separator), columns).columns()


def labelled(examples: Sequence[Example]) -> list[Example]:
    """The examples that are not left out."""
    return [example for example in examples if example.label or example.labels is not None]


def has_columns(document: Document, columns: dict[str, str]) -> bool:
    """Whether a document is a table with these columns."""
    separator = table_separator(document)
    return separator is not None and fits(read_table(document, separator), columns)


def read_unlabelled(
    document: Document, columns: dict[str, str] | None = None, *, tables: bool = True
) -> list[Example]:
    """Read texts to classify, one per line, with a tab between the texts of a pair.

    With `columns`, and from CSV or JSON lines, read the text column of a table and ignore labels.
    `tables=False`: every line is a text, even if it looks like a table.
    """
    separator = table_separator(document) if tables else None
    if columns and separator is None:
        raise InputError(f"{document.name}: is not a table; leave out --columns")
    if separator is not None and (columns or separator != "\t"):
        table = read_table(document, separator, with_empty=True)
        unread = ("label", "weight")
        text_only = {role: name for role, name in (columns or {}).items() if role not in unread}
        layout = find_layout(table, text_only, labelled=False)
        return [Example(_required_texts(table, *row, layout)) for row in _body(table, layout)]
    lines = document.text.removesuffix("\n").split("\n")
    return [Example(tuple(line.split("\t")[:2])) for line in lines]


def _body(table: TextTable, layout: Layout) -> list[tuple[int, list[Any]]]:
    return table.rows[1:] if layout.header and not table.names else table.rows


def _read_table(table: TextTable, layout: Layout, separator: str) -> list[Example]:
    body = _body(table, layout)
    several = bool(separator) or any(
        isinstance(_first_of(row, layout.label), list) for _, row in body
    )
    if several:
        examples = [_several(table, line, row, layout, separator) for line, row in body]
    else:
        examples = [_example(table, line, row, layout) for line, row in body]
    labels = len({label for example in examples for label in example.all_labels})
    known = table.document.has_known_columns
    notes = [layout.describe(labels)] if examples and not known else []
    if hint := about_separators([example.label for example in examples]):
        notes.append(hint)
    weighted = [example for example in examples if example.weight > 0]
    if examples and not weighted:
        raise InputError(f"{table.document.name}: every text has the weight 0; give some more")
    if unused := len(examples) - len(weighted):
        notes.append(f"texts with the weight 0, which are left out: {unused:,}")
    for note in (f"{table.document.name}: {note}" for note in notes):
        if note not in table.document.notes:
            table.document.notes.append(note)
    return weighted


def _example(table: TextTable, line: int, row: list[Any], layout: Layout) -> Example:
    """Make an example from the cells of a row."""
    where = table.where(line)
    texts, label = _texts_and_label(table, line, row, layout)
    if str(label).strip() == "":
        raise InputError(f"{where}: the label is empty; write one, or leave the line out")
    return Example(texts, str(label).strip(), weight=_weight(table, line, row, layout))


def _several(
    table: TextTable, line: int, row: list[Any], layout: Layout, separator: str
) -> Example:
    """Make an example with any number of labels: a list of JSON, or a cell with a separator."""
    texts, given = _texts_and_label(table, line, row, layout)
    if not isinstance(given, list):
        given = str(given).split(separator) if separator else [given]
    if any(isinstance(label, dict | list) or label is None for label in given):
        raise InputError(f"{table.where(line)}: the labels must be a list of texts")
    labels = [str(label).strip() for label in given]
    chosen = tuple(dict.fromkeys(label for label in labels if label))
    return Example(texts, labels=chosen, weight=_weight(table, line, row, layout))


def _weight(table: TextTable, line: int, row: list[Any], layout: Layout) -> float:
    if not layout.weight:
        return 1.0
    return read_weight(_first_of(row, layout.weight), table.where(line))


def _texts_and_label(
    table: TextTable, line: int, row: list[Any], layout: Layout
) -> tuple[tuple[str, ...], Any]:
    where, texts = table.where(line), _required_texts(table, line, row, layout)
    label = _first_of(row, layout.label)
    if label is None:
        raise InputError(f"{where}: {_missing('label', layout.label, layout, _KNOWN_LABELS)}")
    if not all(text.strip() for text in texts):
        raise InputError(f"{where}: the text is empty; write one, or leave the line out")
    return texts, label


def _required_texts(table: TextTable, line: int, row: list[Any], layout: Layout) -> tuple[str, ...]:
    """The text of a row, or both of a pair."""
    first, second = _first_of(row, layout.text), _first_of(row, layout.text2)
    if not isinstance(first, str) or not isinstance(second, str | None):
        places = layout.text2 if isinstance(first, str) else layout.text
        raise InputError(f"{table.where(line)}: {_missing('text', places, layout, _KNOWN_TEXTS)}")
    return (first,) if second is None else (first, second)


def _missing(what: str, places: tuple[int, ...], layout: Layout, known: str) -> str:
    """What to do about a row without a text or a label; `places`: those of its column, or none."""
    if not places:
        return f"has no {what}; name it {known} …, or {_HOW}"
    name = layout.names[places[0]]
    return f"has no {what} (in {name!r}); write one, or leave the line out"


def _first_of(row: list[Any], places: tuple[int, ...]) -> Any:
    return next((row[place] for place in places if row[place] is not None), None)


def split_labels(line: str) -> tuple[list[str], str]:
    """The labels at the beginning of a line, and its text: one word, or several as in fastText."""
    label, _, text = line.strip().partition(" ")
    labels = [label]
    while label.startswith(FASTTEXT) and text.lstrip().startswith(FASTTEXT):
        label, _, text = text.lstrip().partition(" ")
        labels.append(label)
    return labels, text


def _read_label_first(document: Document) -> list[Example]:
    """Lines like `1 a stirring film`, or `__label__a __label__b a film` with several labels."""
    found = []
    for number, line in enumerate(document.text.split("\n"), 1):
        labels, text = split_labels(line)
        if labels == [""]:
            continue
        if not text:
            raise InputError(
                f"{document.name}, line {number}: has a label but no text; write both, "
                "or use .tsv, .csv or .jsonl"
            )
        found.append((text, labels))
    if all(len(labels) == 1 for _, labels in found):
        return [Example((text,), labels[0]) for text, labels in found]
    return [Example((text,), labels=tuple(dict.fromkeys(labels))) for text, labels in found]


# Trees --------------------------------------------------------------------------------------------


def _read_trees(document: Document, phrases: bool) -> list[Example]:
    """The words of each tree with the label of its root, and of every node with its own label."""
    examples: list[Example] = []
    for number, line in enumerate(document.text.split("\n"), 1):
        if line.strip():
            nodes = list(_nodes(line, f"{document.name}, line {number}"))
            *inner, root = nodes
            examples.append(replace(root, phrases=tuple(inner)) if phrases else root)
    return examples


def _nodes(line: str, where: str) -> Iterator[Example]:
    """Every node of a tree, its root last."""
    open_nodes: list[tuple[str, list[str]]] = []
    tokens = _TREE.findall(line)
    for place, token in enumerate(tokens):
        if token == "(":
            open_nodes.append(("", []))
        elif token == ")":
            if not open_nodes:
                raise InputError(f"{where}: one ) too many in the tree")
            label, words = open_nodes.pop()
            if open_nodes:
                open_nodes[-1][1].extend(words)
            yield Example((" ".join(words),), label)
        elif tokens[place - 1] == "(":
            open_nodes[-1] = (token, [])
        else:
            open_nodes[-1][1].append(token)
    if open_nodes:
        raise InputError(f"{where}: a ) is missing in the tree")


# Words --------------------------------------------------------------------------------------------


def is_tokenized(texts: Iterable[str]) -> bool:
    """Whether punctuation is separated from words in a training text."""
    return guess_tokenizer("\n".join(texts)) == "words"
