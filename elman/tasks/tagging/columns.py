"""A file in columns whose words get new tags, while everything else in it stays.

    1  From  from  ADP  IN  _  3  case  3:case  _      the tag replaces that of its column
    Confidence NN B-NP   →   Confidence NN B-NP B-NP   elsewhere it comes after the last column

Takes a document in CoNLL columns or CoNLL-U, gives its sentences, then takes their tags; called by
`elman tag`. Comments, blank lines, multiword tokens and empty nodes are left as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from elman.tasks.tagging.reader import (
    FORM,
    Word,
    blocks,
    place_of_tags,
    places_of_features,
    sentences_in,
)
from elman.text.reader import Document


def looks_like_columns(document: Document) -> bool:
    """Whether lines are rather words in columns: as many on each, in blocks between blank lines."""
    found = [rows for _, rows in blocks(document)]
    widths = {len(row) for rows in found for row in rows}
    return (
        len(found) > 1 and any(len(rows) > 1 for rows in found) and widths in ({2}, {3}, {4}, {10})
    )


class ColumnFile:
    """Lines of a file, and which of them are words of sentences."""

    def __init__(self, document: Document, column: str = "", features: Sequence[str] = ()) -> None:
        """`column`: where CoNLL-U has the tags, upos unless named; `features`: beside the words."""
        self._lines = document.text.removesuffix("\n").split("\n")
        self._separator = "\t" if "\t" in document.text else " "
        self._places: list[tuple[list[int], int | None]] = []  # lines of a sentence; tags' column
        self.sentences: list[list[str]] = []
        self.given: list[list[Word]] = []  # what a tagger reads: words, with features if named
        for conllu, width, rows in sentences_in(document):
            place = None
            if conllu:
                place = place_of_tags(document.name, column, width, conllu)
            beside = places_of_features(document.name, features, width, conllu)
            word = FORM if conllu else 0
            self._places.append(([number - 1 for number, _ in rows], place))
            self.sentences.append([row[word] for _, row in rows])
            self.given.append(
                [(row[word], *(row[n] for n in beside)) if beside else row[word] for _, row in rows]
            )

    def with_tags(self, tagged: Sequence[Sequence[str]]) -> list[str]:
        """The lines with a tag for every word."""
        lines = [*self._lines]
        for (numbers, place), tags in zip(self._places, tagged, strict=True):
            for number, tag in zip(numbers, tags, strict=True):
                if place is None:
                    lines[number] += self._separator + tag
                else:
                    row = lines[number].split("\t")
                    lines[number] = "\t".join([*row[:place], tag, *row[place + 1 :]])
        return lines
