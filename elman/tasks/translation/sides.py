"""One side of pairs: its tokenizer, and how often each token came in training.

Takes texts, a line each, gives an array of ids per line and texts back; called by the task of
translation. Whatever the tokenizer, a line is one row and stays one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from elman.data_checks import wholes
from elman.errors import InputError
from elman.text import guess_tokenizer, tokenizer_from_data, tokenizer_to_data, train_tokenizer
from elman.text.tokenizer import TextConfig, Tokenizer

_SEEN_TWICE = 2  # words seen once stand for unknown ones, which would otherwise never be learned


@dataclass(frozen=True)
class Side:
    """Texts of a side to ids, and back."""

    tokenizer: Tokenizer
    counts: np.ndarray  # (V,): how often each token came in training

    @classmethod
    def learn(cls, lines: Sequence[str], config: TextConfig) -> Side:
        """The tokens of a training text."""
        text = "".join(f"{line}\n" for line in lines)
        name = guess_tokenizer(text) if config.tokenizer == "auto" else config.tokenizer
        min_count = config.min_count
        if not min_count and name == "words":
            min_count = _SEEN_TWICE
        settings = TextConfig(
            tokenizer=name,
            vocabulary_size=config.vocabulary_size,
            min_count=min_count,
            lowercase=config.lowercase,
        )
        tokenizer, ids = train_tokenizer(text, settings)
        return cls(tokenizer, np.bincount(ids, minlength=len(tokenizer)))

    def encode(self, lines: Sequence[str]) -> list[np.ndarray]:
        """The ids of every line, without `<eos>`."""
        if not lines:
            return []
        for number, line in enumerate(lines, 1):
            if "\n" in line:
                raise InputError(f"text {number} has a line end; give one line each")
        ids = self.tokenizer.encode("\n".join(lines))
        ends = np.flatnonzero(ids == self.tokenizer.eos_id)
        rows = np.split(ids, ends)
        return [rows[0], *(row[1:] for row in rows[1:])]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids of a line."""
        return self.tokenizer.decode(ids).replace("\n", " ")

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """A readable form of each."""
        return [self.tokenizer.tokens[number] for number in ids]

    def to_data(self) -> dict[str, Any]:
        """Everything needed to make it again, as plain data."""
        return {**tokenizer_to_data(self.tokenizer), "counts": self.counts.tolist()}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Side:
        """The side that gave this data."""
        data = dict(data)
        counts = np.array(wholes(data.pop("counts"), "counts"), dtype=np.int64)
        side = cls(tokenizer_from_data(data), counts)
        if len(side.tokenizer) != len(counts):
            raise ValueError("tokens and their counts are not as many")
        return side
