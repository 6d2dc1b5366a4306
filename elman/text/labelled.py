"""Texts with a label: TSV, CSV, JSON lines, a label before each line, or labelled trees.

    text	label                 {"text": "…", "label": "pos"}            1 a stirring , funny …
    good film	pos             {"premise": …, "hypothesis": …, "label": …}    (3 (2 The) (4 Rock))

Takes a document, gives `Example`s; called by the tasks. A pair of texts is an example with two.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from elman.errors import InputError
from elman.text.json_lines import read_json_lines
from elman.text.reader import Document

_LABELS = ("label", "class", "category", "sentiment", "gold_label", "target")
_FIRST = ("text", "sentence", "premise", "sentence1", "question", "review")
_SECOND = ("hypothesis", "sentence2", "passage", "answer", "text2")
_TREE = re.compile(r"\(|\)|[^\s()]+")


@dataclass(frozen=True)
class Example:
    """One text, or a pair, and its label; "" where it is not known."""

    texts: tuple[str, ...]
    label: str = ""
    phrases: tuple[Example, ...] = ()  # of a tree, every node under the root


def read_labelled(document: Document, *, phrases: bool = False) -> list[Example]:
    """The examples of a document, in whatever form it is; `phrases`: those of trees come along."""
    suffix = Path(document.name.removesuffix(".gz")).suffix
    text = document.text
    if suffix in (".jsonl", ".json") or text.lstrip().startswith("{"):
        examples = _read_json_lines(document)
    elif suffix == ".csv":
        examples = _read_table(document, ",")
    elif suffix == ".tsv" or "\t" in text.split("\n", 1)[0]:
        examples = _read_table(document, "\t")
    elif re.match(r"\s*\(\S+ \(", text):
        examples = _read_trees(document, phrases)
    else:
        examples = _read_label_first(document)
    if not examples:
        raise InputError(f"{document.name}: has no examples; give a text and its label per line")
    return examples


def read_unlabelled(document: Document) -> list[Example]:
    """Texts to be labelled, one per line; a pair has a tab between its two."""
    lines = document.text.removesuffix("\n").split("\n")
    return [Example(tuple(line.split("\t")[:2])) for line in lines]


def _read_json_lines(document: Document) -> list[Example]:
    entries = read_json_lines(document, '{"text": "…", "label": "…"}')
    return [_example(where, entry) for where, entry in entries if entry is not None]


def _read_table(document: Document, separator: str) -> list[Example]:
    """Rows of columns, with a header that names them or as text and label."""
    lines = document.text.split("\n")
    table = csv.reader(lines) if separator == "," else (line.split(separator) for line in lines)
    rows = [(number, row) for number, row in enumerate(table, 1) if any(row)]
    names = [name.strip().lower() for name in rows[0][1]]
    width = len(names)
    if any(name in _LABELS for name in names) and any(name in _FIRST for name in names):
        rows = rows[1:]
    else:
        if width not in (2, 3):
            raise InputError(
                f"{document.name}: has {width} columns and no header; "
                "name them in the first line: text and label"
            )
        names = ["text", "label"] if width == 2 else ["premise", "hypothesis", "label"]
    examples = []
    for number, row in rows:
        where = f"{document.name}, line {number}"
        if len(row) != width:
            raise InputError(f"{where}: has {len(row)} columns instead of {width}")
        examples.append(_example(where, dict(zip(names, row, strict=True))))
    return examples


def _example(where: str, entry: dict[str, Any]) -> Example:
    """An example out of named values."""
    first = next((entry[name] for name in _FIRST if name in entry), None)
    second = next((entry[name] for name in _SECOND if name in entry), None)
    label = next((entry[name] for name in _LABELS if name in entry), None)
    if not isinstance(first, str) or not isinstance(second, str | None):
        raise InputError(f"{where}: has no text; name it {', '.join(_FIRST[:3])} …")
    if label is None:
        raise InputError(f"{where}: has no label; name it {', '.join(_LABELS[:3])} …")
    if str(label).strip() == "":
        raise InputError(f"{where}: the label is empty; write one, or leave the line out")
    texts = (first,) if second is None else (first, second)
    if not all(text.strip() for text in texts):
        raise InputError(f"{where}: the text is empty; write one, or leave the line out")
    return Example(texts, str(label).strip())


def _read_label_first(document: Document) -> list[Example]:
    """Lines like `1 a stirring film`."""
    examples = []
    for number, line in enumerate(document.text.split("\n"), 1):
        label, _, text = line.strip().partition(" ")
        if not label:
            continue
        if not text:
            raise InputError(
                f"{document.name}, line {number}: has a label but no text; write both, "
                "or use .tsv, .csv or .jsonl"
            )
        examples.append(Example((text,), label))
    return examples


# Trees --------------------------------------------------------------------------------------------


def _read_trees(document: Document, phrases: bool) -> list[Example]:
    """The words of each tree under its root's label, and of every other node under its own."""
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
                raise InputError(f"{where}: a ) too many in the tree")
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
