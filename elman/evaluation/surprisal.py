"""Surprisal, entropy and rank of every word of a text.

Takes a model, a tokenizer and a text; gives one row per word. A word is what stands between white
space, put together from its tokens by the chain rule, so that word, sub-word and character models
give the same kind of table: the surprisal of a word is the sum over its tokens, and the space
before a word belongs to it. All rows together are the surprisal of the text.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
import torch

from elman.evaluation.reading import Progress, Reading, silent
from elman.evaluation.scoring import each_distribution
from elman.models.contract import LanguageModel
from elman.text.tokenizer import EOS, Tokenizer


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
    undefined: bool = False  # no probability: its context was never seen (maximum likelihood)


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
    log_probs, entropies, ranks = each_distribution(
        model, spans.ids, token_columns, tokenizer.eos_id, reading, progress
    ).T
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
        # No token is likelier than one of probability zero: then none has a probability.
        undefined = np.isneginf(log_probs[first:last]) & (ranks[first:last] == 1)
        table.append(
            WordSurprisal(
                line=line,
                position=position,
                word=EOS if is_line_end else match.group(),
                surprisal=float(-log_probs[first:last].sum()) / unit,
                entropy=math.inf if undefined[0] else float(entropies[first]) / unit,
                rank=int(ranks[first]) if last - first == 1 and not undefined[0] else None,
                tokens=int(last - first),
                unknown=bool(np.any(spans.ids[first:last] == tokenizer.unknown_id)),
                undefined=bool(undefined.any()),
            )
        )
        line, position = (line + 1, 0) if is_line_end else (line, position)
    return table


def token_columns(ids: torch.Tensor, log_probs: torch.Tensor) -> torch.Tensor:
    """Log probability, entropy before, and rank of every token, in nats, (B, T, 3)."""
    own = log_probs.gather(2, ids[:, :, None])  # (B, T, 1)
    entropies = torch.special.entr(log_probs.exp()).sum(2)
    ranks = (log_probs > own).sum(2) + 1
    return torch.stack([own[:, :, 0].double(), entropies.double(), ranks.double()], dim=2)
