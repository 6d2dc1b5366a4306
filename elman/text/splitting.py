"""Split raw text into words, numbers and marks; find out whether a text is raw.

Takes a text, gives words or their positions; called by the tokenizer `raw-words` and by the tasks
over words.
"""

from __future__ import annotations

import re

_SPACE = r"[^\S\n]"  # white space within a line
PIECE = (
    r"| ?[^\W\d_]+(?:['’][^\W\d_]+)*"  # letters, and apostrophes between them
    r"| ?\d+"
    r"| ?(?:[^\w\s]|_)"
    rf"|{_SPACE}+(?= \S)"  # the last space before a word belongs to the word
    rf"|{_SPACE}+"
)
PIECES = re.compile(rf"\n{PIECE}")
_ATTACHED = re.compile(r"\w[,!?;:](?!\S)|(?<!\S)[^\W\d_A-Z]\S*\w\.(?!\S)")
_ALONE = re.compile(r"(?<!\S)[.,!?;:]+(?!\S)")


def find_words(text: str) -> list[tuple[int, int]]:
    """The positions of the words, numbers and marks of a text, as (start, end)."""
    places = []
    for match in PIECES.finditer(text):
        if word := match.group().strip():
            places.append((match.end() - len(word), match.end()))
    return places


def split_raw(text: str) -> list[str]:
    """The words, numbers and marks of a text, without the white space between them."""
    return [text[start:end] for start, end in find_words(text)]


def split_text(text: str, tokenized: bool) -> list[str]:
    """The words of a text; `tokenized`: whether the training text was tokenized."""
    return text.split() if tokenized and not is_typed(text) else split_raw(text)


def is_typed(text: str) -> bool:
    """Whether more punctuation marks are attached to a word than separate."""
    return len(_ATTACHED.findall(text)) > len(_ALONE.findall(text))
