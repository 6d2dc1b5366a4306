"""Letters of every script, for the patterns that find words.

Python's `\\w` lacks combining marks: the vowel signs of Hindi, Tamil or Thai, the vowels of Arabic
and Hebrew, and accents that have no composed form. They belong to the letter before them. Chinese,
Japanese, Thai, Lao, Khmer and Burmese write no spaces between words. Takes nothing, gives parts of
regular expressions and two checks; the JavaScript of exported pages has the same rules.
"""

from __future__ import annotations

import re
import sys
import unicodedata

_JOINERS = "\u200c\u200d"  # zero-width, inside the words of Persian, Hindi or Malayalam
SCRIPTS_WITHOUT_SPACES = (  # the same text is in formats/page/tokenizers.js
    "\u0e01-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1050-\u108f\u1780-\u17d3"
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
# Marks at the end of a clause in Latin, Arabic, Indic, Ethiopic, Burmese and East Asian texts.
CLAUSE_MARKS = ".,;:!?،؛؟۔।॥።፣၊။。，、；：！？"


def _ranges(characters: list[int]) -> str:
    """Code points as the inside of a character class."""
    found: list[list[int]] = []
    for code in characters:
        if found and code == found[-1][1] + 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in found)


_LAST_SCRIPT = 0x1F000  # beyond it, only the variation selectors E0100 to E01EF combine
_MARKS = [*range(0x300, _LAST_SCRIPT), *range(0xE0100, min(0xE01F0, sys.maxunicode))]
COMBINING = _ranges([code for code in _MARKS if unicodedata.category(chr(code))[0] == "M"])
COMBINING += _JOINERS
_COMBINING = re.compile(f"[{COMBINING}]")
_WITHOUT_SPACES = re.compile(f"[{SCRIPTS_WITHOUT_SPACES}]")
_SPECIAL = re.compile(f"[{COMBINING}{SCRIPTS_WITHOUT_SPACES}]")
_SPACED_LETTER = rf"[^\W\d_{SCRIPTS_WITHOUT_SPACES}]"
LETTERS = rf"{_SPACED_LETTER}+(?:[{COMBINING}]+{_SPACED_LETTER}*)*"  # a word without apostrophes
IDEOGRAPH = rf"[{SCRIPTS_WITHOUT_SPACES}][{COMBINING}]*"  # one letter of a script without spaces
_FEWEST_LETTERS = 5.5  # of a script without spaces between two spaces; if segmented, 2 to 4


def is_letter(character: str) -> bool:
    """Whether a character is a letter, a digit or a combining mark."""
    return character.isalnum() or _COMBINING.match(character) is not None


def has_other_scripts(text: str) -> bool:
    """Whether a text has combining marks, or letters of scripts without spaces."""
    return not text.isascii() and _SPECIAL.search(text) is not None


def lacks_spaces(words: dict[str, int]) -> bool:
    """Whether no spaces separate the words of a text; `words`: its chunks with their counts.

    Most letters then belong to a script without spaces, and many of them stand together. Chinese
    that was segmented into words has about two letters per chunk.
    """
    letters = together = chunks = 0
    for word, count in words.items():
        found = len(_WITHOUT_SPACES.findall(word))
        together += found * count
        chunks += count if found else 0
        letters += sum(map(is_letter, word)) * count
    return 2 * together > letters and together > _FEWEST_LETTERS * chunks
