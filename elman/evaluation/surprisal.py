"""Surprisal, entropy and rank of every word of a text.

Takes a model, a tokenizer and a text; gives one row per word. A word is a string between white
space. Its surprisal is the sum over its tokens (chain rule), so word, sub-word and character models
give the same kind of table. The space before a word belongs to it. The rows sum to the surprisal of
the text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from elman.evaluation.measures import Progress, Reading, silent
from elman.evaluation.prefix_tree import score_lines
from elman.evaluation.scoring import each_spread
from elman.models.contract import LanguageModel
from elman.text.tokenizer import EOS, Tokenizer


@dataclass(frozen=True)
class WordSurprisal:
    """One row of the table."""

    line: int  # from 1
    position: int  # position of the word in its line, from 1
    word: str
    surprisal: float
    entropy: float  # entropy of the distribution before its first token
    rank: int | None  # rank in that distribution, 1 = most probable; None for several tokens
    tokens: int
    unknown: bool
    undefined: bool = False  # no probability, because of an unseen context (maximum likelihood)


def word_surprisals(
    model: LanguageModel,
    tokenizer: Tokenizer,
    text: str,
    *,
    base: float = 2.0,
    reset: str = "line",
    progress: Progress = silent,
) -> list[WordSurprisal]:
    """The table of a text; `base` of the logarithm: 2 for bits, e for nats."""
    reading = Reading(reset)
    spans = tokenizer.typed_spans(text)
    if len(spans.ids) == 0:
        return []
    log_probs, entropies, ranks = each_spread(
        model, spans.ids, tokenizer.eos_id, reading, progress
    ).T
    # A text of spaces only is one row.
    words = list(re.finditer(r"\n|\S+", text)) or list(re.finditer(r".+", text))
    ends = np.array([word.end() for word in words])
    rows = np.minimum(np.searchsorted(ends, spans.ends), len(ends) - 1)
    firsts = np.flatnonzero(np.diff(rows, prepend=-1))
    unit = math.log(base)
    # If no token is more probable than one of probability zero, all are impossible.
    undefined = np.isneginf(log_probs) & (ranks == 1)
    unknown = spans.ids == (-1 if tokenizer.unknown_id is None else tokenizer.unknown_id)
    columns = zip(
        rows[firsts].tolist(),
        (-np.add.reduceat(log_probs, firsts) / unit).tolist(),
        np.where(undefined[firsts], math.inf, entropies[firsts] / unit).tolist(),
        np.where(undefined[firsts], 0, ranks[firsts]).astype(np.int64).tolist(),
        np.diff(firsts, append=len(rows)).tolist(),
        np.logical_or.reduceat(unknown, firsts).tolist(),
        np.logical_or.reduceat(undefined, firsts).tolist(),
        strict=True,
    )
    table = []
    line, position = 1, 0
    for row, surprisal, entropy, rank, tokens, is_unknown, is_undefined in columns:
        word = words[row].group()
        position += 1
        is_line_end = word == "\n"
        table.append(
            WordSurprisal(
                line=line,
                position=position,
                word=EOS if is_line_end else word,
                surprisal=surprisal,
                entropy=entropy,
                rank=rank if rank and tokens == 1 else None,
                tokens=tokens,
                unknown=is_unknown,
                undefined=is_undefined,
            )
        )
        line, position = (line + 1, 0) if is_line_end else (line, position)
    return table


_SIDE_BY_SIDE = 32


@dataclass(frozen=True)
class Part:
    """The results of one part, in nats."""

    token_surprisals: tuple[float, ...]
    entropy: float  # entropy before its first token; NaN if not requested
    unknown_tokens: tuple[str, ...]  # as written in the text

    @property
    def unknown(self) -> bool:
        """Whether it has out-of-vocabulary tokens."""
        return bool(self.unknown_tokens)

    @property
    def surprisal(self) -> float:
        """The sum over its tokens: the chain rule."""
        return sum(self.token_surprisals)


def part_surprisals(
    model: LanguageModel,
    tokenizer: Tokenizer,
    sentences: Sequence[Sequence[str]],
    *,
    entropy: bool = True,
    progress: Progress = silent,
) -> list[list[Part | None]]:
    """The parts of every sentence; None for parts of spaces only and parts without a token.

    entropy: False is faster, because no whole distribution is computed.

        sentences  [["the boys", "walk", "."], …]   →   a `Part` for each, None for one without text

    Parts are words, regions or other pieces of a sentence, joined by spaces. The space before a
    part belongs to it, as above. Every sentence is a separate line, so sentences are independent.
    """
    text, ends = _joined(sentences)
    spans = tokenizer.typed_spans(text)
    if not len(spans.ids):
        return [[None for _ in sentence] for sentence in sentences]
    columns = _columns(model, spans.ids, tokenizer.eos_id, entropy, progress)
    owners = np.searchsorted(ends, spans.ends)  # the first part that ends no earlier
    firsts = np.searchsorted(owners, np.arange(len(ends)))
    lasts = np.searchsorted(owners, np.arange(len(ends)), side="right")
    unknown = np.flatnonzero(spans.ids == tokenizer.unknown_id)
    number = 0
    result: list[list[Part | None]] = []
    for sentence in sentences:
        row: list[Part | None] = []
        for part in sentence:
            if not part.strip():
                row.append(None)
                continue
            own = slice(firsts[number], lasts[number])
            strange = unknown[slice(*np.searchsorted(unknown, [own.start, own.stop]))]
            written = tuple(text[spans.starts[n] : spans.ends[n]].strip() for n in strange.tolist())
            row.append(_part(columns[own], written))
            number += 1
        result.append(row)
        number += 1  # the line end
    return result


def _columns(
    model: LanguageModel, ids: np.ndarray, eos_id: int, entropy: bool, progress: Progress
) -> np.ndarray:
    """Log probability of every token, and entropy before it."""
    if entropy:
        reading = Reading("line", batch_size=_SIDE_BY_SIDE)
        return each_spread(model, ids, eos_id, reading, progress)
    log_probs = score_lines(model, ids, eos_id=eos_id, progress=progress)
    return np.stack([log_probs, np.full(len(ids), np.nan)], axis=1)


def _part(columns: np.ndarray, unknown: tuple[str, ...]) -> Part | None:
    if not len(columns):
        return None
    return Part(tuple((-columns[:, 0]).tolist()), float(columns[0, 1]), unknown)


def _joined(sentences: Sequence[Sequence[str]]) -> tuple[str, np.ndarray]:
    """Join all sentences to one text; also the end of each part and of each line."""
    pieces: list[str] = []
    ends: list[int] = []
    length = 0
    for sentence in sentences:
        parts = [" ".join(part.split()) for part in sentence if part.strip()]
        for number, part in enumerate(parts):
            piece = f" {part}" if number else part
            pieces.append(piece)
            length += len(piece)
            ends.append(length)
        pieces.append("\n")
        length += 1
        ends.append(length)
    return "".join(pieces), np.array(ends)
