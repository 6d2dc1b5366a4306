"""Which sentence of a minimal pair a model finds more probable.

    right:  log P(good) > log P(bad)

    sentence     log P(s) = Σ_t log p(w_t | w_<t) over all tokens and the line end
    difference   the sum over the tokens that decide the pair (`deciding_tokens`), in context

Takes a model, a tokenizer and pairs; gives the two log probabilities of each and a `Judgement`;
called by `tasks/language_modelling/minimal_pairs.py`. Every sentence is a separate line. With
`per_token` both sums are divided by their numbers of tokens, which removes the advantage of the
shorter sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from elman.errors import choose
from elman.evaluation.measures import Progress, silent
from elman.evaluation.pair_accuracy import ANY, DIFFERING, EXCLUSIONS, Judgement
from elman.evaluation.prefix_tree import KnownScores, score_lines
from elman.models.contract import LanguageModel
from elman.text.minimal_pairs import MinimalPair, Place
from elman.text.splitting import find_words
from elman.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Tokens:
    """The tokens of one sentence and its line end: ids, and their positions in the sentence."""

    text: str
    ids: np.ndarray
    starts: np.ndarray
    ends: np.ndarray

    def within(self, place: Place) -> tuple[int, int]:
        """The tokens of a span of the text; the space before it is included."""
        start = len(self.text[: place[0]].rstrip())
        first = int(np.searchsorted(self.ends, start, side="right"))
        last = int(np.searchsorted(self.starts, place[1]))
        return first, max(first, last) if place[1] > place[0] else first


def deciding_tokens(
    pair: MinimalPair, good: Tokens, bad: Tokens
) -> tuple[tuple[int, int], tuple[int, int]]:
    """The range of scored tokens in each sentence: the first, and the one after the last.

        one prefix     Katherine can't help ▸herself◂ .     / Katherine can't help ▸himself◂ .
        two prefixes   Tina ▸revealed◂ Margaret .           / The horse ▸revealed◂ Margaret .
        not named      Who should Derek hug ▸after shocking Richard◂ ?
                                             / Who should Derek hug ▸Richard after shocking◂ ?

    If the file names a word, that word is scored; otherwise all words from the first to the last
    difference. If one word is a prefix of the other after the same beginning (walk, walks as
    characters; or an added word), the next token is scored too, because only it shows the end of
    the shorter word.
    """
    places = pair.critical or differing_places(good.text, bad.text)
    first, second = good.within(places[0]), bad.within(places[1])
    if pair.same_beginning and _begins(good.ids[slice(*first)], bad.ids[slice(*second)]):
        return (first[0], first[1] + 1), (second[0], second[1] + 1)
    return first, second


def differing_places(good: str, bad: str) -> tuple[Place, Place]:
    """The span from the first to the last difference; empty if only the other has more words."""
    one, two = find_words(good), find_words(bad)
    words, others = ([text[a:b] for a, b in found] for text, found in ((good, one), (bad, two)))
    before = _count_alike(words, others)
    after = _count_alike(words[before:][::-1], others[before:][::-1])
    return _place(good, one, before, after), _place(bad, two, before, after)


def _count_alike(words: list[str], others: list[str]) -> int:
    alike = takewhile(lambda both: both[0] == both[1], zip(words, others, strict=False))
    return sum(1 for _ in alike)


def _place(text: str, found: list[Place], before: int, after: int) -> Place:
    start = found[before][0] if before < len(found) else len(text)
    last = len(found) - after
    return (start, found[last - 1][1]) if last > before else (start, start)


def _begins(one: np.ndarray, two: np.ndarray) -> bool:
    shorter = min(len(one), len(two))
    return len(one) != len(two) and bool((one[:shorter] == two[:shorter]).all())


class PairTokens:
    """The ids of all sentences, each with its line end, and the position of each token.

    The sentences are lines of one text: the good and the bad sentence of the first pair, then those
    of the second. A pair differs in an unknown token if only one sentence has that token, or if
    both are equal for the model because all tokens that differ or move are unknown.
    """

    def __init__(self, tokenizer: Tokenizer, pairs: Sequence[MinimalPair]) -> None:
        self._sentences = [sentence for pair in pairs for sentence in (pair.good, pair.bad)]
        self._text = "".join(f"{sentence}\n" for sentence in self._sentences)
        self._spans = tokenizer.spans(self._text)
        self.ids = self._spans.ids
        self._lasts = np.flatnonzero(self.ids == tokenizer.eos_id) + 1
        self.firsts = np.concatenate([[0], self._lasts[:-1]])
        unknown_id = tokenizer.unknown_id
        no_token = np.zeros(len(self.ids), dtype=bool)
        self._unknown = no_token if unknown_id is None else self.ids == unknown_id

    def have_unknown(self) -> np.ndarray:
        """For every pair, whether it has an unknown token."""
        return self._any(self._unknown)

    def differ_in_unknown(self, decides: np.ndarray | None = None) -> np.ndarray:
        """For every pair, whether it differs in an unknown token; with `decides`, also whether an
        unknown token decides it.
        """
        written = self._written_unknown()
        nothing: list[str] = []
        differ = np.zeros(len(self._sentences) // 2, dtype=bool)
        for number in {line // 2 for line in written}:
            good, bad = (written.get(line, nothing) for line in (2 * number, 2 * number + 1))
            differ[number] = sorted(good) != sorted(bad) or self._same_ids(number)
        return differ if decides is None else differ | self._any(self._unknown & decides)

    def deciding(self, pairs: Sequence[MinimalPair]) -> np.ndarray:
        """Whether each token decides its pair."""
        lengths = np.array([len(sentence) + 1 for sentence in self._sentences])
        offsets = np.repeat(np.cumsum(lengths) - lengths, self._lasts - self.firsts)
        starts, ends = self._spans.starts - offsets, self._spans.ends - offsets
        lines = [
            Tokens(sentence, self.ids[first:last], starts[first:last], ends[first:last])
            for sentence, first, last in zip(
                self._sentences, self.firsts.tolist(), self._lasts.tolist(), strict=True
            )
        ]
        decides = np.zeros(len(self.ids), dtype=bool)
        for number, pair in enumerate(pairs):
            found = deciding_tokens(pair, lines[2 * number], lines[2 * number + 1])
            for line, (first, last) in zip((2 * number, 2 * number + 1), found, strict=True):
                decides[self.firsts[line] + first : self.firsts[line] + last] = True
        return decides

    def _any(self, tokens: np.ndarray) -> np.ndarray:
        """For every pair, whether the condition holds for any of its tokens."""
        return np.asarray(np.logical_or.reduceat(tokens, self.firsts).reshape(-1, 2).any(1))

    def _written_unknown(self) -> dict[int, list[str]]:
        """The unknown tokens of each line that has any, as written in the text."""
        places = np.flatnonzero(self._unknown)
        lines = np.searchsorted(self.firsts, places, side="right") - 1
        spans = self._spans.starts[places].tolist(), self._spans.ends[places].tolist()
        written: dict[int, list[str]] = {}
        for line, start, end in zip(lines.tolist(), *spans, strict=True):
            written.setdefault(line, []).append(self._text[start:end].strip())
        return written

    def _same_ids(self, number: int) -> bool:
        good, bad = (
            self.ids[self.firsts[line] : self._lasts[line]] for line in (2 * number, 2 * number + 1)
        )
        return np.array_equal(good, bad)


SENTENCE, DIFFERENCE = "sentence", "difference"
SCORED = {
    SENTENCE: "the whole sentence and its line end",
    DIFFERENCE: "the critical word if the file names one, otherwise the words that differ",
}
_TIE = 1e-5  # nats: smaller differences are rounding errors


@dataclass(frozen=True)
class JudgedPair:
    """A pair and the judgement of the model."""

    good: str
    bad: str
    good_log_probability: float  # in nats; per token if requested
    bad_log_probability: float
    good_tokens: int  # number of scored tokens
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
    known: KnownScores | None = None,
    progress: Progress = silent,
) -> list[JudgedPair]:
    """Judge every pair, in order.

    scored: one of `SCORED`; exclude_unknown: one of `EXCLUSIONS`; batch_size never changes a
    judgement; known: scores computed before.
    """
    choose(SCORED, scored, "way to score pairs")
    choose(EXCLUSIONS, exclude_unknown, "way to exclude unknown words")
    if not pairs:
        return []
    lines = PairTokens(tokenizer, pairs)
    decides = lines.deciding(pairs) if scored == DIFFERENCE else None
    log_probs = score_lines(
        model,
        lines.ids,
        eos_id=tokenizer.eos_id,
        batch_size=batch_size,
        known=known,
        progress=progress,
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
    names = (pair.paradigm, pair.field, pair.term)
    judgement = Judgement(*names, right, tie, unknown, excluded, pair.attractors)
    return JudgedPair(pair.good, pair.bad, good, bad, tokens[0], tokens[1], judgement)
