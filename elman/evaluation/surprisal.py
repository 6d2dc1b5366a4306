"""Surprisal, entropy and rank of every word of a text.

Takes a model, a tokenizer and a text; gives one row per word. A word is what stands between white
space, put together from its tokens by the chain rule, so that word, sub-word and character models
give the same kind of table: the surprisal of a word is the sum over its tokens, and the space
before a word belongs to it. All rows together are the surprisal of the text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from elman.evaluation.scoring import cut_lines
from elman.models.contract import LanguageModel
from elman.text.tokenizer import EOS, Tokenizer

_AT_ONCE = 1 << 22  # numbers of a distribution held in memory


@dataclass(frozen=True)
class WordSurprisal:
    """One row of the table."""

    line: int  # from 1
    position: int  # of the word in its line, from 1
    word: str
    surprisal: float
    entropy: float  # of the distribution before the word (before its first token)
    rank: int | None  # of the word in that distribution, 1 = most likely; None for several tokens
    tokens: int
    unknown: bool


def word_surprisals(
    model: LanguageModel,
    tokenizer: Tokenizer,
    text: str,
    *,
    base: float = 2.0,
    reset: str = "line",
    progress: Callable[[int, int], None] = lambda tokens, of: None,
) -> list[WordSurprisal]:
    """The table of a text; `base` of the logarithm: 2 for bits, e for nats."""
    spans = tokenizer.spans(text)
    if len(spans.ids) == 0:
        return []
    columns = _token_columns(model, spans.ids, tokenizer.eos_id, reset, progress)
    # A text of blanks alone is one row.
    words = list(re.finditer(r"\n|\S+", text)) or list(re.finditer(r".+", text))
    ends = np.array([word.end() for word in words])
    rows = np.minimum(np.searchsorted(ends, spans.ends), len(ends) - 1)
    firsts = np.flatnonzero(np.diff(rows, prepend=-1))
    lasts = [*firsts[1:], len(rows)]
    unit = math.log(base)
    table = []
    line, position = 1, 0
    for first, last in zip(firsts, lasts, strict=True):
        match = words[rows[first]]
        position += 1
        is_line_end = match.group() == "\n"
        table.append(
            WordSurprisal(
                line=line,
                position=position,
                word=EOS if is_line_end else match.group(),
                surprisal=float(-columns.log_probs[first:last].sum()) / unit,
                entropy=float(columns.entropies[first]) / unit,
                rank=int(columns.ranks[first]) if last - first == 1 else None,
                tokens=int(last - first),
                unknown=bool(np.any(spans.ids[first:last] == tokenizer.unknown_id)),
            )
        )
        line, position = (line + 1, 0) if is_line_end else (line, position)
    return table


@dataclass
class _TokenColumns:
    log_probs: np.ndarray
    entropies: np.ndarray
    ranks: np.ndarray


def _token_columns(
    model: LanguageModel,
    ids: np.ndarray,
    eos_id: int,
    reset: str,
    progress: Callable[[int, int], None],
) -> _TokenColumns:
    """Log probability, entropy before, and rank of every token, in nats."""
    columns = _TokenColumns(*(np.empty(len(ids)) for _ in range(3)))
    pieces = (
        [(r.first, r.last) for r in cut_lines(ids, eos_id)] if reset == "line" else [(0, len(ids))]
    )
    window = max(1, _AT_ONCE // model.vocabulary_size)
    with torch.inference_mode():
        for first, last in pieces:
            state = model.start(1)
            for start in range(first, last, window):
                end = min(start + window, last)
                batch = torch.from_numpy(ids[None, start:end])
                log_probs, state = model.predict_all(batch, state)  # (1, T, V)
                own = log_probs.gather(2, batch[:, :, None])  # (1, T, 1)
                entropies = torch.special.entr(log_probs.exp()).sum(2)
                columns.log_probs[start:end] = own[0, :, 0]
                columns.entropies[start:end] = entropies[0]
                columns.ranks[start:end] = (log_probs > own).sum(2)[0] + 1
                progress(end - start, len(ids))
    return columns
