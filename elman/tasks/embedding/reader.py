"""Plain text as sentences of words: a line each, and long lines cut.

Takes a document, gives tuples of words, which stand between white space; called by the tasks. A
line of more than `longest` words is cut after the last `.`, `?` or `!` that still fits, and where
there is none, after `longest` words. Empty lines are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from elman.errors import InputError
from elman.text.reader import Document

_ENDS = frozenset(".?!")


def read_plain_lines(document: Document, longest: int) -> list[tuple[str, ...]]:
    """The sentences of a document, none empty."""
    lines = [tuple(line.split()) for line in document.text.split("\n")]
    pieces = [piece for line in lines for piece in cut(line, longest)]
    if not pieces:
        raise InputError(f"{document.name}: there are no words in it; give a file with text")
    return pieces


def cut(words: tuple[str, ...], longest: int) -> Iterator[tuple[str, ...]]:
    """Pieces of a line of at most so many words."""
    while len(words) > longest:
        ends = (place for place in range(longest, 0, -1) if words[place - 1] in _ENDS)
        place = next(ends, longest)
        yield words[:place]
        words = words[place:]
    if words:
        yield words
