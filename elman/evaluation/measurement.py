"""Perplexity, average surprisal, bits per character and per byte, each with its protocol.

Takes log probabilities per token and the text they belong to, gives a `Measurement`. Characters and
bytes are those of the text as it was read, whatever the tokenizer, so that they compare. Sums and
counts are kept; the divisions happen here, at the edge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from elman.text.tokenizer import no_surrogates


@dataclass(frozen=True)
class Protocol:
    """How a number was obtained; `comparable` says whether two may be ranked."""

    unit: str  # tokenizer
    vocabulary_size: int
    state: str  # whether it is carried through the text or starts anew at every line
    counts_eos: bool = True
    unknown: str = ""  # what happens to words outside the vocabulary
    text: str = ""  # which text
    normalise: str = ""  # the form that text was brought into before it was cut: nfc
    vocabulary: str = ""  # fingerprint of the tokens: as many are not the same

    def comparable(self, other: Protocol) -> bool:
        """Whether perplexities under the two protocols may be ranked against each other."""
        return self._what_counts() == other._what_counts()

    def _what_counts(self) -> tuple[object, ...]:
        size, tokens = self.vocabulary_size, self.vocabulary
        return self.unit, size, tokens, self.counts_eos, self.text

    def __str__(self) -> str:
        eos = "<eos> counted" if self.counts_eos else "<eos> not counted"
        size = f"vocabulary {self.vocabulary_size:,}"
        parts = (self.unit, size, self.state, eos, self.unknown, self.normalise)
        return " · ".join(part for part in parts if part)


@dataclass
class Measurement:
    """What a model gives a text, in sums."""

    nats: float
    tokens: int
    characters: int
    bytes: int
    lines: int
    unknown: int  # tokens that stand for words outside the vocabulary
    impossible: int  # tokens of probability zero
    protocol: Protocol
    line_nats: np.ndarray = field(repr=False)  # the same sum, line by line
    undefined: int = 0  # of the impossible ones: tokens after a context never seen (0 / 0)

    @property
    def perplexity(self) -> float:
        return math.exp(min(self.nats / self.tokens, 700)) if self.impossible == 0 else math.inf

    @property
    def surprisal(self) -> float:
        """Average surprisal in bits per token; 2 to this power is the perplexity."""
        return self.nats / self.tokens / math.log(2)

    @property
    def bits_per_character(self) -> float:
        return self.nats / self.characters / math.log(2)

    @property
    def bits_per_byte(self) -> float:
        return self.nats / self.bytes / math.log(2)

    def main(self) -> tuple[str, float]:
        """The measure that matters, as of tasks (`task_measures.py`)."""
        return "perplexity", self.perplexity

    def to_data(self) -> dict[str, Any]:
        """Plain data; infinite numbers as null, since JSON has none."""
        numbers = {
            "perplexity": self.perplexity,
            "surprisal_bits": self.surprisal,
            "bits_per_character": self.bits_per_character,
            "bits_per_byte": self.bits_per_byte,
            "nats": self.nats,
        }
        return {
            **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
            "tokens": self.tokens,
            "characters": self.characters,
            "bytes": self.bytes,
            "lines": self.lines,
            "unknown_tokens": self.unknown,
            "impossible_tokens": self.impossible,
            "undefined_tokens": self.undefined,
            "protocol": {**vars(self.protocol), "signature": str(self.protocol)},
        }


def measure(
    log_probs: np.ndarray,
    ids: np.ndarray,
    text: str,
    protocol: Protocol,
    eos_id: int,
    unknown: int,
) -> Measurement:
    """Add up the log probabilities of a text's tokens, `unknown` of which are not its words."""
    impossible = np.isneginf(log_probs)
    line_of_token = np.cumsum(ids == eos_id) - (ids == eos_id)
    return Measurement(
        nats=float(-np.sum(log_probs)),
        tokens=len(ids),
        characters=len(text),
        bytes=len(no_surrogates(text)),
        lines=int(line_of_token[-1]) + 1,
        unknown=unknown,
        impossible=int(np.count_nonzero(impossible)),
        protocol=protocol,
        line_nats=np.bincount(line_of_token, weights=-log_probs),
    )
