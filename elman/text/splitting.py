"""Split raw text into words, numbers and marks; find out whether a text is raw.

Takes a text, gives words or their positions; called by the tokenizer `raw-words` and by the tasks
over words.
"""

from __future__ import annotations

import re

from elman.text.letters import CLAUSE_MARKS, COMBINING, IDEOGRAPH, LETTERS, has_other_scripts

_SPACE = r"[^\S\n]"  # white space within a line
_SPACES = rf"{_SPACE}+(?= \S)|{_SPACE}+"  # the last space before a word belongs to the word
# Letters, and apostrophes between them; digits; marks.
PLAIN_PIECE = rf"| ?[^\W\d_]+(?:['’][^\W\d_]+)*| ?\d+| ?(?:[^\w\s]|_)|{_SPACES}"
PIECE = (
    rf"| ?{LETTERS}(?:['’]{LETTERS})*| ?\d+| ?{IDEOGRAPH}"
    rf"| ?(?:[^\w\s]|_)[{COMBINING}]*|{_SPACES}"
)
_PLAIN_PIECES = re.compile(rf"\n{PLAIN_PIECE}")
_PIECES = re.compile(rf"\n{PIECE}")
_LETTER = rf"[\w{COMBINING}]"
_ATTACHED = re.compile(
    rf"{_LETTER}[{CLAUSE_MARKS[1:]}](?!\S)|(?<!\S)[^\W\d_A-Z]\S*{_LETTER}\.(?!\S)"
)
_ALONE = re.compile(rf"(?<!\S)[{CLAUSE_MARKS}]+(?!\S)")


def find_words(text: str) -> list[tuple[int, int]]:
    """The positions of the words, numbers and marks of a text, as (start, end)."""
    places = []
    pieces = _PIECES if has_other_scripts(text) else _PLAIN_PIECES  # the second is faster
    for match in pieces.finditer(text):
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
