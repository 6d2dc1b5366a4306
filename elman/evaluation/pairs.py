"""Which sentence of a minimal pair a model holds likelier.

    right:  log P(good) > log P(bad),   log P(s) = Σ_t log p(w_t | w_<t), the line end included

Takes a model, a tokenizer and pairs; gives the two log probabilities of each and a `Judgement`;
called by `tasks/minimal_pairs.py`. Every sentence is a line by itself. With `per_token` both are
divided by the number of tokens, which takes away the advantage of the shorter sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from elman.evaluation.judgements import Judgement
from elman.evaluation.reading import Progress, Reading, silent
from elman.evaluation.scoring import cut_lines, score_ids
from elman.models.contract import LanguageModel
from elman.text.minimal_pairs import MinimalPair
from elman.text.tokenizer import Tokenizer

_SIDE_BY_SIDE = 64
_TIE = 1e-5  # nats: nearer than this, networks cannot tell them apart


@dataclass(frozen=True)
class JudgedPair:
    """A pair with what a model makes of it."""

    good: str
    bad: str
    good_log_probability: float  # in nats; per token if that was asked for
    bad_log_probability: float
    judgement: Judgement


def judge_pairs(
    model: LanguageModel,
    tokenizer: Tokenizer,
    pairs: Sequence[MinimalPair],
    *,
    per_token: bool = False,
    progress: Progress = silent,
) -> list[JudgedPair]:
    """Every pair, in order."""
    sentences = [sentence for pair in pairs for sentence in (pair.good, pair.bad)]
    sums, unknown = _sentence_scores(model, tokenizer, sentences, per_token, progress)
    judged = []
    for number, pair in enumerate(pairs):
        good, bad = sums[2 * number : 2 * number + 2].tolist()
        tie = good == bad or abs(good - bad) <= _TIE  # both may be impossible
        judgement = Judgement(
            paradigm=pair.paradigm,
            field=pair.field,
            term=pair.term,
            right=good > bad and not tie,
            tie=tie,
            unknown=bool(unknown[2 * number : 2 * number + 2].any()),
        )
        judged.append(JudgedPair(pair.good, pair.bad, good, bad, judgement))
    return judged


def _sentence_scores(
    model: LanguageModel,
    tokenizer: Tokenizer,
    sentences: Sequence[str],
    per_token: bool,
    progress: Progress,
) -> tuple[np.ndarray, np.ndarray]:
    """Log probability of every sentence, and whether it has unknown words."""
    ids = tokenizer.encode("".join(f"{sentence}\n" for sentence in sentences))
    reading = Reading("line", batch_size=_SIDE_BY_SIDE)
    log_probs = score_ids(model, ids, eos_id=tokenizer.eos_id, reading=reading, progress=progress)
    starts = [row.first for row in cut_lines(ids, tokenizer.eos_id)]
    sums = np.add.reduceat(log_probs, starts)
    if per_token:
        sums = sums / np.diff([*starts, len(ids)])
    unknown = np.logical_or.reduceat(ids == tokenizer.unknown_id, starts)
    return sums, unknown
