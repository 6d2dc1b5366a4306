"""Which sentence of a minimal pair a model finds more probable.

    right:  log P(good) > log P(bad)

    sentence     log P(s) = Σ_t log p(w_t | w_<t) over all tokens and the line end
    difference   the sum over the tokens that decide the pair (`differences.py`), given all before

Takes a model, a tokenizer and pairs; gives the two log probabilities of each and a `Judgement`;
called by `tasks/language_modelling/minimal_pairs.py`. Every sentence is a line by itself. With
`per_token` both sums are divided by the number of their tokens, which takes away the advantage of
the shorter sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from elman.errors import choose
from elman.evaluation.pair_accuracy import ANY, DIFFERING, EXCLUSIONS, Judgement
from elman.evaluation.pair_tokens import PairTokens
from elman.evaluation.prefix_tree import score_lines
from elman.evaluation.reading import Progress, silent
from elman.models.contract import LanguageModel
from elman.text.minimal_pairs import MinimalPair
from elman.text.tokenizer import Tokenizer

SENTENCE, DIFFERENCE = "sentence", "difference"
SCORED = {
    SENTENCE: "the whole sentence and its line end",
    DIFFERENCE: "the critical word that the file names, else the words that differ",
}
_TIE = 1e-5  # nats: nearer than this, networks cannot tell them apart


@dataclass(frozen=True)
class JudgedPair:
    """A pair and the judgement of a model."""

    good: str
    bad: str
    good_log_probability: float  # in nats; per token if that was asked for
    bad_log_probability: float
    good_tokens: int  # how many were scored
    bad_tokens: int
    judgement: Judgement


def judge_pairs(
    model: LanguageModel,
    tokenizer: Tokenizer,
    pairs: Sequence[MinimalPair],
    *,
    scored: str = SENTENCE,
    exclude_unknown: str = DIFFERING,
    per_token: bool = False,
    batch_size: int | None = None,
    progress: Progress = silent,
) -> list[JudgedPair]:
    """Judge every pair, in order.

    scored: one of `SCORED`; exclude_unknown: one of `EXCLUSIONS`; batch_size never changes a
    judgement.
    """
    choose(SCORED, scored, "way to score pairs")
    choose(EXCLUSIONS, exclude_unknown, "way to exclude unknown words")
    if not pairs:
        return []
    lines = PairTokens(tokenizer, pairs)
    decides = lines.deciding(pairs) if scored == DIFFERENCE else None
    log_probs = score_lines(
        model, lines.ids, eos_id=tokenizer.eos_id, batch_size=batch_size, progress=progress
    )
    counts = np.ones(len(lines.ids), dtype=bool) if decides is None else decides
    sums = np.add.reduceat(np.where(counts, log_probs, 0), lines.firsts)
    lengths = np.add.reduceat(counts.astype(np.int64), lines.firsts)
    if per_token:
        sums = sums / np.maximum(lengths, 1)
    unknown = lines.have_unknown()
    excluded = np.zeros(len(pairs), dtype=bool)
    if exclude_unknown == ANY:
        excluded = unknown
    elif exclude_unknown == DIFFERING:
        excluded = lines.differ_in_unknown(decides)
    columns = zip(
        pairs,
        sums.reshape(-1, 2).tolist(),
        lengths.reshape(-1, 2).tolist(),
        unknown.tolist(),
        excluded.tolist(),
        strict=True,
    )
    return [_judged(*row) for row in columns]


def _judged(
    pair: MinimalPair, sums: list[float], tokens: list[int], unknown: bool, excluded: bool
) -> JudgedPair:
    good, bad = sums
    tie = good == bad or abs(good - bad) <= _TIE  # both may be impossible
    right = good > bad and not tie
    judgement = Judgement(pair.paradigm, pair.field, pair.term, right, tie, unknown, excluded)
    return JudgedPair(pair.good, pair.bad, good, bad, tokens[0], tokens[1], judgement)
