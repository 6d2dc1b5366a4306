"""One token per byte of UTF-8: 256 tokens, nothing unknown; the newline byte is `<eos>`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from elman.data_checks import flag
from elman.text.tokenizer import EOS, Spans, TextConfig, Tokenizer, refuse_min_count, require_size


class Bytes(Tokenizer):
    """The id of a token is its byte."""

    name = "bytes"
    about = "one token per byte of UTF-8"
    loses = ""
    eos_id = ord("\n")

    def __init__(self, lowercase: bool = False) -> None:
        super().__init__(lowercase)
        self.tokens = [chr(b) if 32 <= b < 127 else f"<0x{b:02X}>" for b in range(256)]
        self.tokens[self.eos_id] = EOS

    @classmethod
    def _train(cls, text: str, config: TextConfig) -> Self:
        require_size(config, 256, "bytes")
        refuse_min_count(config, "bytes")
        return cls(config.lowercase)

    def _encode(self, text: str) -> np.ndarray:
        return np.frombuffer(text.encode(), dtype=np.uint8).astype(np.int64)

    def decode(self, ids: Iterable[int]) -> str:
        return bytes(int(number) for number in ids).decode(errors="replace")

    def _spans(self, text: str) -> Spans:
        ids = self._encode(text)
        # A byte of the form 10xxxxxx goes on with a character; any other begins one.
        starts = np.cumsum((ids & 0xC0) != 0x80) - 1
        return Spans(ids, starts, starts + 1)

    def to_data(self) -> dict[str, Any]:
        return {"lowercase": self.lowercase}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Self:
        return cls(flag(data["lowercase"], "lowercase"))
