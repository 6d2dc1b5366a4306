"""Normalise characters that look the same: Unicode NFC, and apostrophes and quotes.

    nfc           é as one character, however it was typed
    nfc+quotes    the same, and ’ or ' (“ ” or ") as in the training text
    none          text as it is, as in all runs of version 0.1

Takes a text, gives the normalised text and the original position of every character. The setting
`text.normalise` names the form. Called by every tokenizer and word list, in training and after.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from elman.errors import choose
from elman.text.look_alikes import unify

FORMS = {
    "none": "text as it is",
    "nfc": "composed characters (Unicode NFC)",
    "nfc+quotes": "NFC, with apostrophes and quotes as in the training text",
}


@dataclass(frozen=True)
class Normaliser:
    """A form of text, and the quotes of the training text: plain or typographic."""

    form: str = "none"
    typographic: bool = False

    def __post_init__(self) -> None:
        choose(FORMS, self.form, "text.normalise")

    @classmethod
    def learn(cls, blocks: Iterable[str], form: str) -> Normaliser:
        """The form of a training text, with its more frequent kind of quotes."""
        if form != "nfc+quotes":
            return cls(form)
        plain = typographic = 0
        for block in blocks:
            plain += block.count("'") + block.count('"')
            typographic += sum(map(block.count, "‘’“”"))
        return cls(form, typographic > plain)

    def __call__(self, text: str) -> str:
        """The text in this form."""
        return unify(text, self.form, typographic=self.typographic)

    def places(self, text: str) -> np.ndarray:
        """The original position of each normalised character, then the end of the text."""
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
    """Rebuild the normaliser from this data; runs of version 0.1 have none."""
    if data is None:
        return AS_IT_IS
    form, typographic = data["form"], data["typographic"]
    if not isinstance(form, str) or not isinstance(typographic, bool):
        raise ValueError("the saved form of the text is not valid")
    return Normaliser(form, typographic)


def _parts(text: str) -> Iterator[str]:
    """Pieces that compose independently: a character and its combining marks."""
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
    # Two letters may become one: Korean syllables can be typed in parts.
    return unicodedata.normalize("NFC", part + character) == unicodedata.normalize(
        "NFC", part
    ) + unicodedata.normalize("NFC", character)


def _starts(lengths: list[tuple[int, int]]) -> Iterator[int]:
    start = 0
    for old, _ in lengths:
        yield start
        start += old
