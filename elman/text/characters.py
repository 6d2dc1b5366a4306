"""One token per character, over arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from elman.data_checks import flag, texts
from elman.text.tokenizer import EOS, UNKNOWN, Spans, TextConfig, Tokenizer, count_vocabulary

_UNKNOWN_ID = 1


class Characters(Tokenizer):
    """Every character seen in training is a token."""

    name = "characters"
    about = "one token per character"
    loses = "characters that were not in the training text"

    def __init__(self, characters: list[str], lowercase: bool = False) -> None:
        super().__init__(lowercase)
        self.characters = characters
        self.tokens = [EOS, UNKNOWN, *characters]
        self.unknown_id = _UNKNOWN_ID
        self._texts = ["\n", UNKNOWN, *characters]
        codes = np.array([ord(character) for character in characters], dtype=np.int64)
        self._table = np.full(max([ord("\n"), *codes]) + 1, _UNKNOWN_ID)
        self._table[ord("\n")] = self.eos_id
        self._table[codes] = np.arange(2, len(self.tokens))

    @classmethod
    def _train(cls, text: str, config: TextConfig) -> Self:
        counts = Counter(text)
        counts.pop("\n", None)
        return cls(count_vocabulary(counts, config, min_count=1, reserved=2), config.lowercase)

    def _encode(self, text: str) -> np.ndarray:
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        known = np.minimum(codes, len(self._table) - 1)
        return np.where(codes < len(self._table), self._table[known], _UNKNOWN_ID)

    def decode(self, ids: Iterable[int]) -> str:
        return "".join(self._texts[number] for number in ids)

    def _spans(self, text: str) -> Spans:
        ids = self._encode(text)
        starts = np.arange(len(ids))
        return Spans(ids, starts, starts + 1)

    def to_data(self) -> dict[str, Any]:
        return {"characters": self.characters, "lowercase": self.lowercase}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Self:
        characters = texts(data["characters"], "characters")
        return cls(characters, flag(data["lowercase"], "lowercase"))
