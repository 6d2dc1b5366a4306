"""Words separated by white space, for corpora that are already tokenized (Penn Treebank, WikiText).

Punctuation must stand apart already. A word not in the vocabulary is `<unk>`; a `<unk>` written in
the text is that same word, as these corpora mean it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from elman.errors import InputError
from elman.text.tokenizer import (
    EOS,
    UNKNOWN,
    Ids,
    Spans,
    TextConfig,
    Tokenizer,
    count_vocabulary,
    lower,
)

# Markers that elman or the ARPA format adds itself; in the text they would mean two things.
RESERVED = (EOS, "<s>", "</s>")


class Words(Tokenizer):
    """Splits at white space."""

    name = "words"
    about = "split at white space; for text that is already tokenized"
    loses = "unknown words, and white space other than single spaces"
    whole_words = True

    def __init__(self, tokens: list[str], lowercase: bool = False) -> None:
        super().__init__(lowercase)
        self.tokens = tokens
        self.unknown_id = tokens.index(UNKNOWN)
        self.ids = Ids(tokens, self.unknown_id)

    @classmethod
    def train(cls, text: str, config: TextConfig) -> Words:
        text = lower(text) if config.lowercase else text
        refuse_reserved(text)
        counts = Counter(text.split())
        counts.pop(UNKNOWN, None)
        words = count_vocabulary(counts, config, min_count=1, reserved=2)
        return cls([EOS, UNKNOWN, *words], config.lowercase)

    def _encode(self, text: str) -> np.ndarray:
        refuse_reserved(text)
        return self.ids.of(text.replace("\n", f" {EOS} ").split())

    def decode(self, ids: Iterable[int]) -> str:
        lines: list[list[str]] = [[]]
        for number in ids:
            if number == self.eos_id:
                lines.append([])
            else:
                lines[-1].append(self.tokens[number])
        return "\n".join(map(" ".join, lines))

    def _spans(self, text: str) -> Spans:
        refuse_reserved(text)
        places = [match.span() for match in re.finditer(r"\n|\S+", text)]
        words = [text[start:end] for start, end in places]
        ids = self.ids.of([EOS if word == "\n" else word for word in words])
        starts, ends = np.array(places, dtype=np.int64).reshape(-1, 2).T
        return Spans(ids, starts, ends)

    def normalise(self, text: str) -> str:
        lines = super().normalise(text).split("\n")
        return "\n".join(" ".join(line.split()) for line in lines)

    def to_data(self) -> dict[str, Any]:
        return {"tokens": self.tokens, "lowercase": self.lowercase}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Words:
        return cls(data["tokens"], data["lowercase"])


def refuse_reserved(text: str) -> None:
    """A marker as a word of the text is an error that says where it stands."""
    for marker in RESERVED:
        if marker not in text:
            continue
        match = re.search(rf"(?<!\S){re.escape(marker)}(?!\S)", text)
        if match:
            line = text.count("\n", 0, match.start()) + 1
            raise InputError(
                f"line {line}: the word {marker!r} is a marker that is added to every line anyway; "
                "remove it from the text, or train with "
                "--set text.tokenizer=raw-words, for which it is text like any other"
            )
