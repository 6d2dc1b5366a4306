"""Tokenize raw text into words and punctuation, reversibly.

A token is a word, a number, a punctuation mark or white space, together with one space before it:
`He's 7.` gives ` He's`, ` 7`, `.`. The first token of a line has that space too (it is taken off
again), so that a word is the same token everywhere. A word that is not in the vocabulary is
spelled in bytes, `<0xE2>`: no token is unknown, and probabilities cover every text. With the
setting `text.elisions`, an elided word is a token of its own: `l'homme` gives ` l'`, `homme`.

In scripts without spaces each letter is a token. A vowel sign or accent belongs to its word; in
runs without `scripts` (before 0.2) it is a token of its own, and Chinese clauses are words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from elman.data_checks import flag, texts
from elman.text.letters import has_other_scripts
from elman.text.splitting import PIECE, PLAIN_PIECE
from elman.text.tokenizer import (
    EOS,
    Ids,
    Spans,
    TextConfig,
    Tokenizer,
    require_size,
)
from elman.text.type_counts import TypeCounts

_ELISION = r"| ?(?!aujourd['’]hui)[^\W\d_]+['’](?=[^\W\d_])"  # l', qu'
# By (elisions, other scripts).
_PIECES = {
    (False, False): re.compile(rf"\n{PLAIN_PIECE}"),
    (False, True): re.compile(rf"\n{PIECE}"),
    (True, False): re.compile(rf"(?i)\n{_ELISION}{PLAIN_PIECE}"),
    (True, True): re.compile(rf"(?i)\n{_ELISION}{PIECE}"),
}
_LINE_START = re.compile(r"(?m)^(?=[^\n])")
_FIRST_BYTE = 1  # ids: <eos>, 256 bytes, words


class RawWords(Tokenizer):
    """Words, numbers, marks and white space; bytes for the rest."""

    name = "raw-words"
    about = "words and punctuation of raw text; rare words become bytes"
    loses = ""
    whole_words = True
    space_before_words = True

    def __init__(
        self,
        words: list[str],
        lowercase: bool = False,
        elisions: bool = False,
        *,
        scripts: bool = True,
    ) -> None:
        """`scripts`: combining marks belong to words, and letters of scripts without spaces are
        tokens.
        """
        super().__init__(lowercase)
        self.words = words
        self.elisions = elisions
        self.scripts = scripts
        self.tokens = [EOS, *(f"<0x{byte:02X}>" for byte in range(256)), *words]
        # Words are looked up separately from markers, so that a `<eos>` in the text stays text.
        self.ids = Ids(words, unknown=-1)

    @classmethod
    def _train(cls, blocks: Iterable[str], config: TextConfig) -> Self:
        require_size(config, 1 + 256, "raw-words, with a token for every byte,")
        counts = TypeCounts(without=["\n"])
        for block in blocks:
            pieces = _PIECES[config.elisions, has_other_scripts(block)]
            counts.add(pieces.findall(_LINE_START.sub(" ", block)))
        words = counts.frequent(config, min_count=2, reserved=257)
        return cls(words, config.lowercase, config.elisions)

    def _encode(self, text: str) -> np.ndarray:
        pieces = self._pieces(text).findall(_LINE_START.sub(" ", text))
        return self._spell(pieces)[0]

    def _pieces(self, text: str) -> re.Pattern[str]:
        return _PIECES[self.elisions, self.scripts and has_other_scripts(text)]

    def _spell(self, pieces: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Ids of pieces, with unknown ones in bytes, and the number of ids of each piece."""
        numbers = self.ids.of(pieces)
        numbers[numbers >= 0] += 1 + 256
        unknown = np.flatnonzero(numbers < 0)
        lengths = np.ones(len(pieces), dtype=np.int64)
        spelled = [pieces[place].encode() for place in unknown]
        lengths[unknown] = [len(letters) for letters in spelled]
        ids = np.repeat(numbers, lengths)
        letters = np.frombuffer(b"".join(spelled), dtype=np.uint8).astype(np.int64) + _FIRST_BYTE
        letters[letters == ord("\n") + _FIRST_BYTE] = self.eos_id  # a newline is always a piece
        ids[ids < 0] = letters
        return ids, lengths

    def decode(self, ids: Iterable[int]) -> str:
        text = b"".join(map(self._bytes, ids)).decode(errors="replace")
        return re.sub(r"(?m)^ ", "", text)

    def _bytes(self, number: int) -> bytes:
        if number == self.eos_id:
            return b"\n"
        if number <= 256:
            return bytes([number - _FIRST_BYTE])
        return self.tokens[number].encode()

    def token_texts(self) -> list[str]:
        # `decode` would take off the space at the start of a line.
        return [self._bytes(number).decode(errors="replace") for number in range(len(self))]

    def _spans(self, text: str) -> Spans:
        matches = list(self._pieces(text).finditer(_LINE_START.sub(" ", text)))
        ids, lengths = self._spell([match.group() for match in matches])
        places = np.array([match.span() for match in matches], dtype=np.int64).reshape(-1, 2)
        # Positions in the text without the added spaces: one at the start of each line with text.
        line_starts = [match.start() for match in _LINE_START.finditer(text)]
        added = np.array(line_starts, dtype=np.int64) + np.arange(len(line_starts))
        places -= np.searchsorted(added, places)
        starts, ends = np.repeat(places, lengths, axis=0).T
        return Spans(ids, starts, ends)

    def to_data(self) -> dict[str, Any]:
        flags = {"elisions": self.elisions, "scripts": self.scripts}
        return {
            "words": self.words,
            "lowercase": self.lowercase,
            **{name: True for name, is_set in flags.items() if is_set},
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Self:
        return cls(
            texts(data["words"], "words"),
            flag(data["lowercase"], "lowercase"),
            flag(data.get("elisions", False), "elisions"),
            scripts=flag(data.get("scripts", False), "scripts"),
        )
