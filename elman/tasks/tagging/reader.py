"""Sentences with a tag for every word: CoNLL columns, CoNLL-U, and JSON lines (`token_lists.py`).

    Confidence NN B-NP          1  From  from  ADP  IN  _  3  case  3:case  _
    in IN B-PP                  2  the   the   DET  DT  …
                                                                    a blank line ends a sentence

Takes a document, returns sentences; called by the task, and by `questions.py` to tag such a file.
In CoNLL columns, the word comes first and the tag last unless a column is named. In CoNLL-U the tag
is UPOS; lines of multiword tokens (3-4) and empty nodes (3.1) are skipped, because their words are
listed separately or were never written. Further columns, such as the part of speech above, can be
used as features of each word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from elman.errors import InputError, nearest
from elman.text.file_shapes import blocks_of_lines, looks_like
from elman.text.reader import Document
from elman.text.token_lists import EXAMPLE, has_token_lists, read_token_lists
from elman.text.treebank_cuts import Chunk

Word = str | tuple[str, ...]  # a word, or a word and the features beside it
Rows = list[tuple[int, list[str]]]  # lines of words with their numbers, in columns
_CONLLU = {"form": 1, "lemma": 2, "upos": 3, "xpos": 4, "feats": 5, "deprel": 7}
_CONLLU_COLUMNS = 10
FORM = _CONLLU["form"]
_ATTACHED = "SpaceAfter=No"
MISC = _CONLLU_COLUMNS - 1
_NONE = "_"  # what CoNLL-U writes where nothing is known
_SAMPLE, _LINES = 20_000, 40  # characters and lines that show whether a file has columns
_WIDTHS_OF_TEXT = 5  # numbers of words per line: damaged columns have fewer
_LONGEST_USUAL = 1000  # words of a sentence; longer ones lack blank lines between them
_NEW_DOCUMENT = "-DOCSTART-"  # in CoNLL-2003, a line that is no sentence
_BESIDE = re.compile(r"\d+[-.]\d+")  # number of a multiword token or an empty node


@dataclass(frozen=True)
class TaggedSentence:
    """Words with one tag each; no tags if they are unknown."""

    words: tuple[str, ...]
    tags: tuple[str, ...] = ()
    features: tuple[tuple[str, ...], ...] = ()  # of every word, where columns are named
    chunks: tuple[Chunk, ...] = ()  # raw text between white space, where the file has it

    @classmethod
    def of(cls, given: Sequence[Word], tags: Sequence[str]) -> TaggedSentence:
        """Of words, or words with their features."""
        words = tuple(word if isinstance(word, str) else word[0] for word in given)
        features = tuple(word[1:] for word in given if not isinstance(word, str))
        return cls(words, tuple(tags), features)

    def given(self) -> list[Word]:
        """What a tagger reads: words, or words with their features."""
        if not self.features:
            return [*self.words]
        return [(word, *beside) for word, beside in zip(self.words, self.features, strict=True)]


def read_tagged(
    document: Document, column: str = "", features: Sequence[str] = ()
) -> list[TaggedSentence]:
    """The sentences of a document; columns: upos, xpos or a number, the first being 1."""
    name = document.name
    sentences = []
    if has_token_lists(document):
        if features:
            raise InputError(f"{name}: JSON lines have no columns; leave out text.features")
        sentences = [TaggedSentence(*both) for both in read_token_lists(document, column)]
        _refuse_nothing(name, sentences)
        return sentences
    every = zip(sentences_in(document), raw_chunks(document), strict=True)
    for (conllu, width, rows), chunks in every:
        if width < 2:
            _refuse_tables(document)
        place = place_of_tags(name, column, width, conllu)
        beside = places_of_features(name, features, width, conllu)
        if place in beside:
            raise InputError(f"text.features={[*features]}: one of these columns contains the tags")
        word = FORM if conllu else 0
        words = _column(name, rows, word, "word")
        tags = _column(name, rows, place, "tag")
        read = [_column(name, rows, one, "feature") for one in beside]
        if words and words[0] != _NEW_DOCUMENT:
            values = tuple(zip(*read, strict=True))
            sentences.append(TaggedSentence(words, tags, values, chunks))
    _refuse_nothing(name, sentences)
    _refuse_texts(name, sentences)
    _note_longest(document, sentences)
    return sentences


def _note_longest(document: Document, sentences: Sequence[TaggedSentence]) -> None:
    longest = max(len(sentence.words) for sentence in sentences)
    note = (
        f"{document.name}: the longest sentence has {longest:,} words; a blank line must follow "
        "every sentence"
    )
    if longest > _LONGEST_USUAL and note not in document.notes:
        document.notes.append(note)


def sentences_in(document: Document) -> Iterator[tuple[bool, int, Rows]]:
    """Of every sentence: whether it is CoNLL-U, how many columns it has, and its words' rows."""
    width = 0  # of all rows, as the first has it
    for number, rows in blocks(document):
        width = width or len(rows[0])
        for line, row in enumerate(rows, number):
            if len(row) != width:
                _refuse_tables(document)
                _refuse_running_text(document)
                _refuse_width(f"{document.name}, line {line}", row, width)
        conllu = is_conllu(rows)
        found = [(n, row) for n, row in enumerate(rows, number) if is_word(row, conllu)]
        yield conllu, width, found


def _refuse_tables(document: Document) -> None:
    """Refuse CSV, and JSON without lists of words and tags."""
    shape = looks_like(document) or ""
    if shape.startswith(("a CSV table", "JSON")):
        what = "a CSV table" if "CSV" in shape else f"{shape} without lists of words and tags"
        raise InputError(
            f"{document.name}: looks like {what}; a tagger reads one word and its tag per line, "
            "with a tab between them and a blank line after every sentence, or JSON lines like "
            f"{EXAMPLE}"
        )


def _refuse_running_text(document: Document) -> None:
    """Refuse a file whose lines have many different numbers of words."""
    lines = document.beginning(_SAMPLE).split("\n")[:_LINES]
    if len({len(line.split()) for line in lines} - {0}) >= _WIDTHS_OF_TEXT:
        raise InputError(
            f"{document.name}: looks like running text; a tagger learns from one word and its tags "
            "per line, with a blank line after every sentence"
        )


def _refuse_width(where: str, row: list[str], width: int) -> None:
    if len(row) == 1 and row[0].startswith("#"):
        raise InputError(
            f"{where}: is a comment inside a sentence; put a blank line between sentences"
        )
    raise InputError(
        f"{where}: has {len(row)} column{'s' * (len(row) > 1)} where the file began with {width}; "
        "give every word the same columns"
    )


def _refuse_texts(name: str, sentences: list[TaggedSentence]) -> None:
    """Refuse a table of texts, like sentences with a label or a translation each."""
    cells = [
        (word, tag) for one in sentences for word, tag in zip(one.words, one.tags, strict=True)
    ]
    texts = [word for word, tag in cells if len(word.split()) > 1 or len(tag.split()) > 1]
    if len(texts) > max(1, len(cells) / 2):
        raise InputError(
            f"{name}: most lines contain several words, like {texts[0]!r}; a tagger reads one word "
            "and its tag per line, with a blank line after each sentence. Labelled texts are for "
            "the recipe classifier, pairs of texts for translator"
        )


def _column(name: str, rows: Rows, place: int, what: str) -> tuple[str, ...]:
    """One column of a sentence; nothing in it may be empty."""
    for line, row in rows:
        if not row[place].strip():
            raise InputError(f"{name}, line {line}: the {what} is missing")
    return tuple(row[place] for _, row in rows)


def _refuse_nothing(name: str, sentences: list[TaggedSentence]) -> None:
    if not sentences:
        raise InputError(f"{name}: has no sentences; give one word and its tag per line")
    if all(tag == _NONE for sentence in sentences for tag in sentence.tags):
        raise InputError(f"{name}: has no tags, only {_NONE}; name their column in text.column")


def blocks(document: Document) -> Iterator[tuple[int, list[list[str]]]]:
    """The rows of each sentence, in columns, and the number of the first one's line."""
    tabs = "\t" in document.text
    comments = tabs or looks_like(document) == "CoNLL-U"  # with spaces between its columns
    for first, lines in blocks_of_lines(document.text, comments=comments):
        yield first, [line.split("\t") if tabs else line.split() for line in lines]


def raw_chunks(document: Document) -> Iterator[tuple[Chunk, ...]]:
    """The raw text of each sentence: what stands between white space, and its words.

    Empty for files without SpaceAfter=No, which do not tell how the text was written.
    """
    known = _ATTACHED in document.text
    for _, rows in blocks(document):
        yield _chunks(rows) if known and is_conllu(rows) else ()


def _chunks(rows: list[list[str]]) -> tuple[Chunk, ...]:
    """A multiword token (3-4) has the text of its words, and their space."""
    found: list[Chunk] = []
    text, words, until = "", [], 0  # until: the last word of a multiword token
    attached = False
    for row in rows:
        number = row[0]
        if "." in number or len(row) <= MISC:
            continue  # an empty node was never written
        if "-" in number:
            until = int(number.partition("-")[2])
            text, attached = text + row[FORM], _is_attached(row)
            continue
        words.append(row[FORM])
        if int(number) > until:
            text, attached = text + row[FORM], _is_attached(row)
        if int(number) >= until and not attached:
            found.append((text, tuple(words)))
            text, words = "", []
    return (*found, (text, tuple(words))) if words else tuple(found)


def _is_attached(row: list[str]) -> bool:
    return _ATTACHED in row[MISC].split("|")


def is_conllu(rows: list[list[str]]) -> bool:
    """Whether the rows of a sentence are those of CoNLL-U."""
    return len(rows[0]) == _CONLLU_COLUMNS and all(row[0][:1].isdigit() for row in rows)


def is_word(row: list[str], conllu: bool) -> bool:
    """Whether a row is a word that is tagged, and no multiword token or empty node."""
    return not (conllu and _BESIDE.fullmatch(row[0]))


def place_of_tags(name: str, column: str, width: int, conllu: bool) -> int:
    """The column of the tags, from 0."""
    if width < 2:
        raise InputError(f"{name}: has one column; write a tag after each word")
    if not column:
        return _CONLLU["upos"] if conllu else width - 1
    return _place("text.column", name, column, width, conllu)


def places_of_features(name: str, columns: Sequence[str], width: int, conllu: bool) -> list[int]:
    """The columns of the features, from 0."""
    return [_place("text.features", name, column, width, conllu) for column in columns]


def _place(setting: str, name: str, column: str, width: int, conllu: bool) -> int:
    if column.isdigit() and 1 < int(column) <= width:
        return int(column) - 1
    if conllu and column in _CONLLU:
        return _CONLLU[column]
    known = [*_CONLLU] if conllu else [str(number) for number in range(2, width + 1)]
    hint = nearest(column, known) if known else "its only column has the words"
    raise InputError(f"{setting}={column}: {name} has no such column; {hint}")
