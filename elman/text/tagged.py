"""Sentences with a tag for every word: CoNLL columns and CoNLL-U.

    Confidence NN B-NP          1  From  from  ADP  IN  _  3  case  3:case  _
    in IN B-PP                  2  the   the   DET  DT  …
                                                                    a blank line ends a sentence

Takes a document, gives sentences; called by the tasks. In columns, the word comes first and the tag
last unless a column is named; in CoNLL-U the tag is UPOS, and lines of multiword tokens (3-4) and
empty nodes (3.1) are passed over, since their words come anyway or were never written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from elman.errors import InputError, nearest
from elman.text.reader import Document

_CONLLU = {"form": 1, "lemma": 2, "upos": 3, "xpos": 4}
_CONLLU_COLUMNS = 10
_BESIDE = re.compile(r"\d+[-.]\d+")  # number of a multiword token or an empty node


@dataclass(frozen=True)
class TaggedSentence:
    """Words and their tags, as many of each; no tags where they are not known."""

    words: tuple[str, ...]
    tags: tuple[str, ...] = ()


def read_tagged(document: Document, column: str = "") -> list[TaggedSentence]:
    """The sentences of a document; `column`: upos, xpos or a number, the first being 1."""
    sentences = []
    for number, rows in _blocks(document):
        width = len(rows[0])
        for place, row in enumerate(rows):
            if len(row) != width:
                raise InputError(
                    f"{document.name}, line {number + place}: has {len(row)} columns where the "
                    f"sentence began with {width}; give every word the same columns"
                )
        conllu = width == _CONLLU_COLUMNS and all(row[0][:1].isdigit() for row in rows)
        if conllu:
            rows = [row for row in rows if not _BESIDE.fullmatch(row[0])]
        place = _place(document.name, column, width, conllu)
        word = _CONLLU["form"] if conllu else 0
        sentences.append(
            TaggedSentence(tuple(row[word] for row in rows), tuple(row[place] for row in rows))
        )
    if not sentences:
        raise InputError(f"{document.name}: has no sentences; give one word and its tag per line")
    return sentences


def read_untagged(document: Document) -> list[TaggedSentence]:
    """Sentences to be tagged, one per line, words between spaces; an empty line stays empty."""
    lines = document.text.removesuffix("\n").split("\n")
    return [TaggedSentence(tuple(line.split())) for line in lines]


def _blocks(document: Document) -> Iterator[tuple[int, list[list[str]]]]:
    """The rows of each sentence, in columns, and the number of the first one's line.

    Comments of CoNLL-U begin with `#` and have no tab; a word `#` has columns after it.
    """
    rows: list[list[str]] = []
    first = 1
    tabs = "\t" in document.text
    for number, line in enumerate(document.text.split("\n"), 1):
        if not line.strip():
            if rows:
                yield first, rows
            rows = []
        elif line.startswith("# ") and not rows and "\t" not in line and tabs:
            continue
        else:
            if not rows:
                first = number
            rows.append(line.split("\t") if tabs else line.split())
    if rows:
        yield first, rows


def _place(name: str, column: str, width: int, conllu: bool) -> int:
    """Which column, from 0, has the tags."""
    if width < 2:
        raise InputError(f"{name}: has one column; a tag must stand after each word")
    if not column:
        return _CONLLU["upos"] if conllu else width - 1
    if column.isdigit() and 1 < int(column) <= width:
        return int(column) - 1
    if conllu and column in _CONLLU:
        return _CONLLU[column]
    known = [*_CONLLU] if conllu else [str(number) for number in range(2, width + 1)]
    raise InputError(f"text.column={column}: {name} has no such column; {nearest(column, known)}")
