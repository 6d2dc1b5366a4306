"""A text as words: at white space where it is tokenized already, else by the rule of raw words.

    a film , well made .      tokenized: its marks stand alone
    A film, well made.        raw: split as `raw_words.py` does, without the white space

Takes texts, gives words; called by the tasks whose files hold texts rather than words. A training
text is judged as a whole, as a tokenizer is guessed, and so that all of a raw text is split alike;
where it is tokenized, each text is looked at again, so that a person may type as people do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from elman.text import guess_tokenizer
from elman.text.raw_words import split_raw

# A mark at the end of a word; a full stop of a small one, since capitals are abbreviated: Mr.
_ATTACHED = re.compile(r"\w[,!?;:](?!\S)|(?<!\S)[^\W\d_A-Z]\S*\w\.(?!\S)")
_ALONE = re.compile(r"(?<!\S)[.,!?;:]+(?!\S)")


def is_tokenized(texts: Iterable[str]) -> bool:
    """Whether the marks of a training text stand apart from its words."""
    return guess_tokenizer("\n".join(texts)) == "words"


def split_text(text: str, tokenized: bool) -> list[str]:
    """The words of a text; `tokenized`: the training text was."""
    return text.split() if tokenized and not is_typed(text) else split_raw(text)


def is_typed(text: str) -> bool:
    """Whether more marks end a word than stand alone."""
    return len(_ATTACHED.findall(text)) > len(_ALONE.findall(text))
