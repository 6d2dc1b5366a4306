"""Tokenizers with one token per character, or per byte of UTF-8."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from elman.data_checks import flag, texts
from elman.text.tokenizer import (
    EOS,
    UNKNOWN,
    Spans,
    TextConfig,
    Tokenizer,
    count_vocabulary,
    refuse_min_count,
    require_size,
)

_UNKNOWN_ID = 1


class Characters(Tokenizer):
    """One token per character, computed with arrays."""

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
    def _train(cls, blocks: Iterable[str], config: TextConfig) -> Self:
        counts: Counter[str] = Counter()
        for block in blocks:
            counts.update(block)
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


class Bytes(Tokenizer):
    """One token per byte of UTF-8: 256 tokens, none unknown; the newline byte is `<eos>`."""

    name = "bytes"
    about = "one token per byte of UTF-8"
    loses = ""
    eos_id = ord("\n")

    def __init__(self, lowercase: bool = False) -> None:
        super().__init__(lowercase)
        self.tokens = [chr(b) if 32 <= b < 127 else f"<0x{b:02X}>" for b in range(256)]
        self.tokens[self.eos_id] = EOS

    @classmethod
    def _train(cls, blocks: Iterable[str], config: TextConfig) -> Self:
        require_size(config, 256, "bytes")
        refuse_min_count(config, "bytes")
        return cls(config.lowercase)

    def _encode(self, text: str) -> np.ndarray:
        return np.frombuffer(text.encode(), dtype=np.uint8).astype(np.int64)

    def decode(self, ids: Iterable[int]) -> str:
        return bytes(int(number) for number in ids).decode(errors="replace")

    def _spans(self, text: str) -> Spans:
        ids = self._encode(text)
        # A byte of the form 10xxxxxx continues a character; any other byte begins one.
        starts = np.cumsum((ids & 0xC0) != 0x80) - 1
        return Spans(ids, starts, starts + 1)

    def to_data(self) -> dict[str, Any]:
        return {"lowercase": self.lowercase}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Self:
        return cls(flag(data["lowercase"], "lowercase"))
