"""Perplexity, average surprisal, bits per character and per byte, each with its protocol.

Takes log probabilities per token and their text, gives a `Measurement`. Characters and bytes are
those of the text as it was read, so they compare across tokenizers. A measurement stores sums and
counts, and divides on demand.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from elman.errors import ElmanError, InputError
from elman.evaluation.accuracy import Accuracy
from elman.evaluation.measures import SEEN, STREAM, Progress, Reading, TaskMeasures, silent
from elman.evaluation.scoring import each_token, score_ids
from elman.models.contract import LanguageModel
from elman.text.reader import Document, named
from elman.text.tokenizer import Tokenizer, no_surrogates

_MANY_UNKNOWN = 0.05  # of the tokens


@dataclass(frozen=True)
class Protocol:
    """How a number was measured; `comparable` tells whether two numbers may be ranked."""

    unit: str  # tokenizer
    vocabulary_size: int
    state: str  # whether the state is carried through the text or reset at every line
    counts_eos: bool = True
    unknown: str = ""  # treatment of out-of-vocabulary words
    text: str = ""  # which text
    normalise: str = ""  # normalisation of the text before tokenization: nfc
    vocabulary: str = ""  # fingerprint of the tokens: equal counts can hide different texts

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
class Measurement(TaskMeasures):
    """The sums of a model over a text."""

    nats: float
    tokens: int
    characters: int
    bytes: int
    lines: int
    unknown: int  # out-of-vocabulary tokens
    impossible: int  # tokens of probability zero
    protocol: Protocol
    line_nats: np.ndarray = field(repr=False)  # the same sum, line by line
    undefined: int = 0  # impossible tokens after an unseen context (0 / 0)
    accuracy: Accuracy | None = None  # next-token accuracy, if it was measured
    seen: bool = False  # the model was trained on this text

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

    @property
    def unknown_share(self) -> float:
        """The share of tokens that are out of vocabulary."""
        return self.unknown / self.tokens

    def to_data(self) -> dict[str, Any]:
        """Plain data; infinite numbers are null, because JSON has no infinity."""
        numbers = {
            "perplexity": self.perplexity,
            "surprisal_bits": self.surprisal,
            "bits_per_character": self.bits_per_character,
            "bits_per_byte": self.bits_per_byte,
            "nats": self.nats,
        }
        data = {
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
        return data if self.accuracy is None else {**data, "accuracy": self.accuracy.to_data()}

    def rows(self) -> list[tuple[str, Any]]:
        rows: list[tuple[str, Any]] = [
            ("perplexity", self.perplexity),
            ("bits per token", self.surprisal),
            ("bits per character", self.bits_per_character),
            ("bits per byte", self.bits_per_byte),
            ("tokens", self.tokens),
            ("out-of-vocabulary", self.unknown),
            ("lines", self.lines),
        ]
        if self.accuracy is not None:
            rows += [
                ("accuracy", self.accuracy.accuracy),
                ("counted tokens", self.accuracy.counted),
                ("fully correct lines", self.accuracy.line_accuracy),
            ]
        return rows

    def footnotes(self) -> list[str]:
        lines = [f"protocol: {self.protocol}", f"text: {self.protocol.text}"]
        if self.accuracy is not None:
            what = f"accuracy of the most probable next token; counted: {self.accuracy.what}"
            lines.insert(0, f"accuracy: {what}")
        return lines

    def notes(self) -> list[str]:
        notes = [SEEN] if self.seen else []
        if self.unknown:
            notes.append(
                "unknown words count as one word <unk>, so bits per byte look better than they are"
            )
        if self.unknown_share > _MANY_UNKNOWN:
            notes.append(
                f"WARNING: {self.unknown_share:.1%} of the tokens are out of vocabulary. "
                "Is the text tokenized like the training text, with punctuation apart from words?"
            )
        return notes + ([self._why_infinite()] if self.impossible else [])

    def _why_infinite(self) -> str:
        """The reason for an infinite perplexity, and how to get a finite one."""
        of, zero = f"of {self.tokens:,} tokens", self.impossible - self.undefined
        reasons = []
        if zero:
            reasons.append(f"{zero:,} {of} have probability zero (never seen after their context)")
        if self.undefined:
            reasons.append(
                f"{self.undefined:,} {of} have no defined probability (their context was never "
                "seen: 0 / 0)"
            )
        return f"{'; '.join(reasons)}: the perplexity is infinite; a smoother makes it finite"


def measure(
    log_probs: np.ndarray,
    ids: np.ndarray,
    text: str,
    protocol: Protocol,
    eos_id: int,
    unknown: int,
) -> Measurement:
    """Sum the log probabilities of the tokens of a text; `unknown` are out of vocabulary."""
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


_MOST_NATS = 700  # per token: exp gives infinity soon after
_ADVICE = "The training or adaptation diverged: use a lower rate"


def measure_document(
    model: LanguageModel,
    tokenizer: Tokenizer,
    document: Document,
    reading: Reading = STREAM,
    progress: Progress = silent,
) -> Measurement:
    """Measure a model on a document, with the protocol."""
    with named(document):
        ids = tokenizer.encode(document.text)
    if len(ids) == 0:
        raise InputError(f"{document.name}: an empty text cannot be measured")
    eos_id = tokenizer.eos_id
    log_probs = score_ids(model, ids, eos_id=eos_id, reading=reading, progress=progress)
    _refuse_divergence(model, log_probs, document.name)
    anew = reading.reset == "line" or model.resets_at_lines
    state = "every line by itself" if anew else "state carried from line to line"
    protocol = Protocol(
        unit=tokenizer.name + (", lower case" if tokenizer.lowercase else ""),
        vocabulary_size=len(tokenizer),
        state=", ".join([state, model.reads] if model.reads else [state]),
        unknown="" if tokenizer.unknown_id is None else "unknown tokens count as <unk>",
        text=f"{document.name} sha256:{document.sha256()[:12]}",
        normalise="" if tokenizer.normaliser.form == "none" else tokenizer.normaliser.form,
        vocabulary=hashlib.sha256("\n".join(tokenizer.tokens).encode()).hexdigest()[:12],
    )
    unknown = tokenizer.count_unknown(document.text, ids)
    measured = measure(log_probs, ids, document.text, protocol, eos_id, unknown)
    if model.always_defined:
        return measured
    undefined = each_token(model, ids, model.undefined, eos_id, reading, silent)
    return replace(measured, undefined=int(undefined.sum()))


def _refuse_divergence(model: LanguageModel, log_probs: np.ndarray, name: str) -> None:
    """Raise if a network gives NaN, infinity, or a perplexity too large for a float.

    Count models may give a token the probability zero; their perplexity is then truly infinite.
    """
    lost = np.isnan(log_probs)
    if _has_network(model):
        lost |= np.isinf(log_probs)
    if lost.any():
        raise ElmanError(
            f"{name}: cannot be measured; the model gives {lost.sum():,} of {len(lost):,} tokens "
            f"NaN or infinity as their log probability. {_ADVICE}"
        )
    nats = -float(log_probs[np.isfinite(log_probs)].sum()) / len(log_probs)
    if nats > _MOST_NATS:
        raise ElmanError(
            f"{name}: cannot be measured; the perplexity of {nats:.3g} nats per token is too large "
            f"for a number. {_ADVICE}"
        )


def _has_network(model: Any) -> bool:
    """Whether a model is a network, or an adapter of one."""
    inside = getattr(model, "models", None)
    if isinstance(inside, list | tuple):
        return any(_has_network(part) for part in inside)
    return hasattr(model, "parameters")
