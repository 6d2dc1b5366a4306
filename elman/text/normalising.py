"""One form for characters that look the same: Unicode's composed form, and apostrophes and quotes.

    nfc           é as one character, however it was typed
    nfc+quotes    the same, and ’ or ' (“ ” or ") as the training text has them
    none          text as it is; so were all runs of version 0.1

Takes a text, gives it in that form, with the place in the text of every character. The setting
`text.normalise` names the form. Called by every tokenizer and word list, at training and at use.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from elman.errors import choose

FORMS = {
    "none": "text as it is",
    "nfc": "composed characters (Unicode NFC)",
    "nfc+quotes": "NFC, with apostrophes and quotes as in the training text",
}
_SINGLE, _DOUBLE = "'‘’ʼ", '"“”„'
_TO_PLAIN = str.maketrans({**dict.fromkeys(_SINGLE, "'"), **dict.fromkeys(_DOUBLE, '"')})


@dataclass(frozen=True)
class Normaliser:
    """A form of text, and the quotes of a training text: plain, or typographic."""

    form: str = "none"
    typographic: bool = False

    def __post_init__(self) -> None:
        choose(FORMS, self.form, "text.normalise")

    @classmethod
    def learn(cls, text: str, form: str) -> Normaliser:
        """The form of a training text, with the quotes that it has more often."""
        if form != "nfc+quotes":
            return cls(form)
        plain = text.count("'") + text.count('"')
        return cls(form, sum(map(text.count, "‘’“”")) > plain)

    def __call__(self, text: str) -> str:
        """The text in this form."""
        if self.form == "none":
            return text
        if not text.isascii():
            text = unicodedata.normalize("NFC", text)
        if self.form == "nfc":
            return text
        plain = text.translate(_TO_PLAIN)
        return _curl(plain) if self.typographic else plain

    def places(self, text: str) -> np.ndarray:
        """Where each character of the new form begins in the text, and behind the last the end."""
        lengths = [(len(part), len(unicodedata.normalize("NFC", part))) for part in _parts(text)]
        places = [
            start + min(number, old - 1)
            for start, (old, new) in zip(_starts(lengths), lengths, strict=True)
            for number in range(new)
        ]
        return np.array([*places, len(text)], dtype=np.int64)

    def to_data(self) -> dict[str, Any]:
        return {"form": self.form, "typographic": self.typographic}


AS_IT_IS = Normaliser()


def normaliser_from_data(data: Any) -> Normaliser:
    """The normaliser that gave this data; a run of version 0.1 has none."""
    if data is None:
        return AS_IT_IS
    form, typographic = data["form"], data["typographic"]
    if not isinstance(form, str) or not isinstance(typographic, bool):
        raise ValueError("the form of the text is not as it was saved")
    return Normaliser(form, typographic)


def _curl(text: str) -> str:
    """Plain quotes as typographic ones: opening before a word, closing elsewhere."""
    text = re.sub(r"(?<![^\s([{—–-])'(?=\w)", "‘", text).replace("'", "’")
    return re.sub(r'(?<![^\s([{—–-])"', "“", text).replace('"', "”")


def _parts(text: str) -> Iterator[str]:
    """Pieces that are composed each by itself: a character and the marks that go with it."""
    part = ""
    for character in text:
        if part and _begins(part, character):
            yield part
            part = ""
        part += character
    if part:
        yield part


def _begins(part: str, character: str) -> bool:
    if unicodedata.combining(character):
        return False
    if character.isascii():
        return True
    # Two letters may become one: Korean syllables are typed in parts.
    return unicodedata.normalize("NFC", part + character) == unicodedata.normalize(
        "NFC", part
    ) + unicodedata.normalize("NFC", character)


def _starts(lengths: list[tuple[int, int]]) -> Iterator[int]:
    start = 0
    for old, _ in lengths:
        yield start
        start += old
