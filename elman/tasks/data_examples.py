"""The examples of a document in columns, for an overview of the data.

Takes a document of a known kind, gives `Examples`; called by `data_kinds.py`. Unlike for training,
texts and labels of a table may be empty: the overview counts them. Works without torch.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from elman.errors import InputError
from elman.tasks.answering.reader import read_questions
from elman.tasks.classification.columns import Layout, about_separators, find_layout
from elman.tasks.classification.reader import SEPARATOR, read_labelled
from elman.tasks.tagging.reader import read_tagged
from elman.tasks.translation.pairs import read_pairs
from elman.text.reader import Document
from elman.text.tables import TextTable, read_json_lines, read_table, table_separator
from elman.text.task_config import PairConfig

MINIMAL_PAIR = ("sentence_good", "sentence_bad")  # the keys of BLiMP


@dataclass
class Examples:
    """Texts in columns, such as source and target, with a label or tags each."""

    columns: dict[str, Sequence[Any]]  # texts, or lists of words
    labels: Sequence[str] = ()  # one per example; several are joined
    several: Sequence[Sequence[str]] = ()  # labels of examples that may have any number
    tags: Sequence[Sequence[str]] = ()  # one per word
    keys: Sequence[Hashable] = ()  # what makes two examples the same; default: their columns

    def __len__(self) -> int:
        return len(self.keys) or len(next(iter(self.columns.values())))

    @property
    def empty_labels(self) -> int:
        """How many examples lack their label; those with any number may have none."""
        return 0 if self.several else self.labels.count("")

    def identities(self) -> Iterator[Hashable]:
        """What makes two examples the same."""
        if self.keys:
            return iter(self.keys)
        if len(self.columns) == 1:
            return iter(next(iter(self.columns.values())))
        return zip(*self.columns.values(), strict=True)

    def take(self, rows: Sequence[int]) -> Examples:
        """Some of them; a column of its own length, like passages, keeps the used ones."""

        def some(column: Sequence[Any]) -> Sequence[Any]:
            return [column[row] for row in rows] if column else column

        return Examples(
            {name: some(column) for name, column in self.columns.items()},
            some(self.labels),
            some(self.several),
            some(self.tags),
            some(self.keys),
        )


def examples_of_lines(document: Document) -> Examples:
    """The lines of a text."""
    return Examples({"text": document.text.removesuffix("\n").split("\n")})


def labelled_examples(document: Document, columns: dict[str, str]) -> Examples:
    """Texts with a label each: a table, trees, or lines that begin with a label."""
    if table_separator(document) is not None:
        return _labelled_rows(document, columns)
    examples = read_labelled(document, columns=columns)
    texts = [" ".join(example.texts) for example in examples]
    several = [example.all_labels for example in examples if example.labels is not None]
    labels = [SEPARATOR.join(example.all_labels) for example in examples]
    return Examples({"text": texts}, labels, several)


def _labelled_rows(document: Document, columns: dict[str, str]) -> Examples:
    """The rows of a table; unlike for training, texts and labels may be empty."""
    table = whole_table(document)
    layout = find_layout(table, columns)
    rows = [row for _, row in body_of(table, layout)]
    cells = [first_of(row, layout.label) for row in rows]
    several = [_labels_of(cell) for cell in cells] if any(map(_is_list, cells)) else []
    labels = [SEPARATOR.join(_labels_of(cell)) for cell in cells]
    if not document.has_known_columns:
        different = {label for given in several or [labels] for label in given} - {""}
        document.notes.append(f"{document.name}: {layout.describe(len(different))}")
    if not several and (hint := about_separators(labels)):
        document.notes.append(f"{document.name}: {hint}")
    sides = {"text": layout.text, "text2": layout.text2}
    texts: dict[str, Sequence[Any]] = {
        name: [_written(first_of(row, places)) for row in rows]
        for name, places in sides.items()
        if places
    }
    return Examples(texts, labels, several)


def _is_list(cell: Any) -> bool:
    return isinstance(cell, list)


def _labels_of(cell: Any) -> list[str]:
    """The labels of a cell; numbers, such as 0, are labels too."""
    labels = [_written(one).strip() for one in (cell if _is_list(cell) else [cell])]
    return [*dict.fromkeys(label for label in labels if label)]


def _written(cell: Any) -> str:
    return "" if cell is None else str(cell)


def whole_table(document: Document) -> TextTable:
    """The rows of a document that is a table."""
    separator = table_separator(document)
    if separator is None:
        raise InputError(f"{document.name}: is not a table; leave out --columns")
    return read_table(document, separator)


def body_of(table: TextTable, layout: Layout) -> list[tuple[int, list[Any]]]:
    """The rows without the header."""
    return table.rows[1:] if layout.header and not table.names else table.rows


def first_of(row: list[Any], places: tuple[int, ...]) -> Any:
    """The first cell of these places that a row has."""
    return next((row[place] for place in places if row[place] is not None), None)


def tagged_examples(document: Document, columns: dict[str, str]) -> Examples:
    """Sentences with a tag for every word."""
    sentences = read_tagged(document)
    words = [sentence.words for sentence in sentences]
    return Examples({"text": words}, tags=[sentence.tags for sentence in sentences])


def paired_examples(document: Document, config: PairConfig) -> Examples:
    """Sources and targets; only targets if the sources are vectors."""
    pairs = read_pairs(document, config)
    columns: dict[str, Sequence[Any]] = {"target": [pair.target for pair in pairs]}
    if all(isinstance(pair.source, str) for pair in pairs):
        columns = {"source": [pair.source for pair in pairs], **columns}
    return Examples(columns)


def asked_examples(document: Document, columns: dict[str, str]) -> Examples:
    """Questions with their passages and first answers."""
    read = read_questions(document)
    asked = [(one.question.text, one.passage.text) for one in read]
    answers = [one.answers[0].text if one.answers else "" for one in read]
    questions, passages = ([both[place] for both in asked] for place in (0, 1))
    return Examples({"question": questions, "passage": passages, "answer": answers}, keys=asked)


def minimal_pairs(document: Document, columns: dict[str, str]) -> Examples:
    """The good and the bad sentence of each pair."""
    rows = [row for _, row in read_json_lines(document, '{"sentence_good": "…", …}') if row]
    return Examples({key: [str(row.get(key, "")) for row in rows] for key in MINIMAL_PAIR})
