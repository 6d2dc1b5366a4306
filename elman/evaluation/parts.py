"""Surprisal of parts of sentences: words, regions, or whatever a sentence was cut into.

    sentences  [["the boys", "walk", "."], …]   →   a `Part` for each, None for one without text

Takes a model, a tokenizer and sentences in parts; called by `suites.py` and `stimuli.py`. Parts are
joined by spaces; the space before a part belongs to it, as in `surprisal.py`. Every sentence is a
line by itself, so that none depends on another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from elman.evaluation.prefix_tree import score_lines
from elman.evaluation.reading import Progress, Reading, silent
from elman.evaluation.scoring import each_distribution
from elman.evaluation.surprisal import token_columns
from elman.models.contract import LanguageModel
from elman.text.tokenizer import Tokenizer

_SIDE_BY_SIDE = 32


@dataclass(frozen=True)
class Part:
    """What a model makes of one part, in nats."""

    token_surprisals: tuple[float, ...]
    entropy: float  # of the distribution before its first token; NaN if it was not asked for
    unknown_tokens: tuple[str, ...]  # as they are written in the text

    @property
    def unknown(self) -> bool:
        """Whether some of it is not in the vocabulary."""
        return bool(self.unknown_tokens)

    @property
    def surprisal(self) -> float:
        """Of all its tokens: the chain rule."""
        return sum(self.token_surprisals)


def part_surprisals(
    model: LanguageModel,
    tokenizer: Tokenizer,
    sentences: Sequence[Sequence[str]],
    *,
    entropy: bool = True,
    progress: Progress = silent,
) -> list[list[Part | None]]:
    """For every sentence its parts; None for a part of blanks, and for one that no token is in.

    entropy: without it no distribution has to be computed, which is faster.
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
        return each_distribution(model, ids, token_columns, eos_id, reading, progress)
    log_probs = score_lines(model, ids, eos_id=eos_id, progress=progress)
    return np.stack([log_probs, np.full(len(ids), np.nan)], axis=1)


def _part(columns: np.ndarray, unknown: tuple[str, ...]) -> Part | None:
    if not len(columns):
        return None
    return Part(tuple((-columns[:, 0]).tolist()), float(columns[0, 1]), unknown)


def _joined(sentences: Sequence[Sequence[str]]) -> tuple[str, np.ndarray]:
    """One text of all sentences, and where each part and each line end in it ends."""
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
