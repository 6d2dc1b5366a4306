"""Running text with the head of every word, from dependency trees in CoNLL-U.

Takes what `--data` names, gives a `Corpus`; called for language models with `text.heads`. After
every word stands an arrow with the distance of its head, if the head is one of the words before:

    1  The   …  2  det                      The ←0 dog ←0 saw ←0 a ←0 cat ←2
    2  dog   …  3  nsubj
    3  saw   …  0  root        ←2: the head is two words back; ←0: it comes later, or there is none
    4  a     …  5  det
    5  cat   …  3  obj

So a tree is part of the text: a model that reads it cannot know more than was read, and one that
predicts it pays for the arrows, too. Text with arrows is taken as it is.
"""

import re

from elman.errors import InputError
from elman.text.corpora import CORPORA, Corpus, split_document
from elman.text.file_shapes import looks_like
from elman.text.reader import Document, read_document
from elman.text.running_text import find_files

ARROW = "←"
FURTHEST = 30  # distance that is written; farther heads count as none
_WORD, _BESIDE = re.compile(r"\d+"), re.compile(r"\d+[-.]\d+")
_COLUMNS, _FORM, _HEAD = 10, 1, 6


def open_parsed_text(data: str) -> Corpus:
    """Open CoNLL-U files as text with heads."""
    if data.partition(":")[0] in CORPORA:
        raise InputError(f"{data}: tells no heads (text.heads=true); give a treebank in CoNLL-U")
    documents = {}
    for split, places in find_files(data).items():
        parts = [_read(place) for place in places]
        if parts:
            text = "".join(part.text for part in parts)
            notes = [note for part in parts for note in part.notes]
            documents[split] = Document(parts[0].name if len(parts) == 1 else data, text, notes)
    return split_document(documents[""]) if "" in documents else Corpus(data, documents)


def _read(place: str) -> Document:
    document = read_document(place)
    if looks_like(document) == "CoNLL-U":
        return with_heads(document)
    if ARROW not in document.text:
        raise InputError(
            f"{document.name}: tells no heads (text.heads=true): it is not CoNLL-U, and has no "
            f"arrows like {ARROW}2; give a treebank with dependencies"
        )
    return document


def with_heads(document: Document) -> Document:
    """The sentences of a CoNLL-U document, one per line, with the distance of each head."""
    lines: list[str] = []
    words: list[str] = []
    far = 0
    for number, line in enumerate([*document.text.split("\n"), ""], 1):
        if not line.strip():
            if words:
                lines.append(" ".join(words))
            words = []
        elif not line.startswith("#"):
            place = f"{document.name}, line {number}"
            row = line.split("\t")
            if len(row) == _COLUMNS and _BESIDE.fullmatch(row[0]):
                continue  # a multiword token, whose words follow, or an empty node
            distance = _distance(place, row)
            far += distance > FURTHEST
            form = row[_FORM].replace(" ", "\u00a0")  # a few words contain a space
            words += [form, f"{ARROW}{distance if distance <= FURTHEST else 0}"]
    notes = [*document.notes]
    if far:
        notes.append(f"{far:,} heads farther back than {FURTHEST} words count as none")
    return Document(document.name, "".join(f"{line}\n" for line in lines), notes)


def _distance(place: str, row: list[str]) -> int:
    """How many words before this one its head is; 0 if it is not before it."""
    if len(row) != _COLUMNS:
        raise InputError(f"{place}: has {len(row)} columns; CoNLL-U has {_COLUMNS}")
    if not _WORD.fullmatch(row[0]) or not _WORD.fullmatch(row[_HEAD]):
        raise InputError(
            f"{place}: the head of a word must be a number, not {row[_HEAD]!r}; give a treebank "
            "with dependencies"
        )
    head = int(row[_HEAD])
    return max(0, int(row[0]) - head) if head else 0


def arrow_distance(token: str) -> int:
    """The distance that an arrow says; -1 for other tokens."""
    shown = token.removeprefix(ARROW)
    return int(shown) if shown != token and shown.isascii() and shown.isdigit() else -1
