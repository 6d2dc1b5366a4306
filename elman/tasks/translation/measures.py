"""Measures of translation: BLEU, chrF, ROUGE and exact match, overall and by source length.

BLEU (Papineni et al. 2002) and chrF (Popović 2015) come from sacrebleu; its signature states how
they were computed. Takes outputs and references with the length of each source, returns
`TranslationMeasures`; called by the translation task and by comparisons of runs by length. BLEU and
chrF cover the whole text and run from 0 to 100; ROUGE and exact match are means over the lines,
from 0 to 1.

ROUGE-n   F1 of the n-grams, taken as bags
    ROUGE-L   F1 of the longest common subsequence of words

(Lin 2004). For ROUGE, words are runs of letters and digits in lower case, without stemming.
"""

import re
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from elman.errors import InputError, choose
from elman.evaluation.bootstrap import Measure, formula_of
from elman.evaluation.measures import MeasureTable, TaskMeasures, make_score

TOKENIZATIONS = ("13a", "none", "intl", "char", "zh")  # those of sacrebleu without further packages
NAMES = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "rouge-1": "ROUGE-1",
    "rouge-2": "ROUGE-2",
    "rouge-l": "ROUGE-L",
    "exact": "exact match",
}
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Scores:
    """The scores of some lines."""

    bleu: float
    chrf: float
    rouge_1: float
    rouge_2: float
    rouge_l: float
    exact: float  # the share of lines that are right to the letter
    lines: int

    def get(self, measure: str) -> float:
        """One score by its name in settings, such as `rouge-l`."""
        return float(getattr(self, measure.replace("-", "_")))


@dataclass(frozen=True)
class Band:
    """The scores of the lines whose source has a length from `shortest` to `longest`."""

    shortest: int
    longest: int
    scores: Scores


@dataclass(frozen=True)
class TranslationMeasures(TaskMeasures):
    """Measures of outputs against references."""

    whole: Scores
    bands: tuple[Band, ...]  # from the shortest sources to the longest
    signatures: dict[str, str]  # of BLEU and chrF: how they were computed
    measure: str = "bleu"  # the one that matters
    remarks: tuple[str, ...] = ()

    def rows(self) -> list[tuple[str, Any]]:
        order = sorted(NAMES, key=lambda name: name != self.measure)
        rows: list[tuple[str, Any]] = [(NAMES[name], self.whole.get(name)) for name in order]
        return [*rows, ("lines", self.whole.lines)]

    def tables(self) -> list[MeasureTable]:
        if len(self.bands) < 2:
            return []
        names = [name for name in ("bleu", "chrf", "rouge-l", "exact") if name != self.measure]
        names = [self.measure, *names]
        rows = [
            [f"{band.shortest}–{band.longest}", band.scores.lines, *map(band.scores.get, names)]
            for band in self.bands
        ]
        return [MeasureTable(["source length", "lines", *(NAMES[name] for name in names)], rows)]

    def footnotes(self) -> list[str]:
        return [f"{NAMES[name]}: {signature}" for name, signature in self.signatures.items()]

    def notes(self) -> list[str]:
        return [*self.remarks]

    def to_data(self) -> dict[str, Any]:
        bands = [
            {"shortest": band.shortest, "longest": band.longest, **asdict(band.scores)}
            for band in self.bands
        ]
        data = {**asdict(self.whole), "measure": self.measure, "signatures": self.signatures}
        return {**data, "by_length": bands}


@dataclass(frozen=True)
class Judging:
    """How outputs are compared with references."""

    tokenize: str = "13a"  # the tokenizer of BLEU; none: split at spaces
    lowercase: bool = False
    measure: str = "bleu"  # the one that matters

    def __post_init__(self) -> None:
        choose(dict.fromkeys(TOKENIZATIONS), self.tokenize, "tokenization of BLEU")
        choose(NAMES, self.measure, "measure")


def measure_translation(
    right: Sequence[str],
    guessed: Sequence[str],
    lengths: Sequence[int],
    *,
    judging: Judging | None = None,
    bounds: Sequence[int] | None = None,
    remarks: Sequence[str] = (),
) -> TranslationMeasures:
    """Measure one output per line; `lengths`: of the sources.

    `bounds`: the longest length of every band but the last. Default: three bands of equal size.
    """
    if not right:
        raise InputError("there are no lines to evaluate; give some")
    judging = judging or Judging()
    metrics = _metrics(judging)
    found = []
    for shortest, longest, rows in bands_of(lengths, bounds):
        some = [right[row] for row in rows], [guessed[row] for row in rows]
        found.append(Band(shortest, longest, _score(*some, metrics, judging.lowercase)))
    whole = _score(right, guessed, metrics, judging.lowercase)
    signatures = {name: str(metric.get_signature()) for name, metric in metrics.items()}
    return TranslationMeasures(whole, tuple(found), signatures, judging.measure, tuple(remarks))


def bands_of(
    lengths: Sequence[int], bounds: Sequence[int] | None = None
) -> list[tuple[int, int, list[int]]]:
    """Bands of length: the shortest and longest length in each, and its rows; none is empty.

    Rows of one length stay in one band, so the bands may differ in size.
    """
    ordered = sorted(lengths)
    if bounds is None:
        bounds = [ordered[len(ordered) * part // 3 - 1] for part in (1, 2) if len(ordered) >= 3]
    limits = [*sorted({*bounds}), ordered[-1]]
    bands = []
    below = -1
    for limit in limits:
        rows = [row for row, length in enumerate(lengths) if below < length <= limit]
        if rows:
            within = [lengths[row] for row in rows]
            bands.append((min(within), max(within), rows))
        below = max(below, limit)
    return bands


def _metrics(judging: Judging) -> dict[str, Any]:
    from sacrebleu.metrics.bleu import BLEU  # take a while
    from sacrebleu.metrics.chrf import CHRF

    case = judging.lowercase
    return {
        "bleu": BLEU(tokenize=judging.tokenize, lowercase=case, force=True),
        "chrf": CHRF(lowercase=case),
    }


def _score(
    right: Sequence[str], guessed: Sequence[str], metrics: dict[str, Any], lowercase: bool
) -> Scores:
    corpus = {
        name: float(metric.corpus_score([*guessed], [[*right]]).score)
        for name, metric in metrics.items()
    }
    pairs = [*zip(right, guessed, strict=True)]
    words = [(rouge_words(one), rouge_words(other)) for one, other in pairs]
    return Scores(
        bleu=corpus["bleu"],
        chrf=corpus["chrf"],
        rouge_1=statistics.fmean(rouge_n(*both, 1) for both in words),
        rouge_2=statistics.fmean(rouge_n(*both, 2) for both in words),
        rouge_l=statistics.fmean(rouge_l(*both) for both in words),
        exact=statistics.fmean(_same(*both, lowercase) for both in pairs),
        lines=len(right),
    )


def _same(right: str, guess: str, lowercase: bool) -> bool:
    if lowercase:
        right, guess = right.lower(), guess.lower()
    return right.split() == guess.split()


def resampled_translation(
    right: Sequence[str], guessed: Sequence[str], judging: Judging
) -> list[Measure]:
    """BLEU and chrF from n-gram counts per line, with the counts and formulas of sacrebleu."""
    found = []
    for name, metric in _metrics(judging).items():
        counts = np.array(metric._extract_corpus_statistics([*guessed], [[*right]]))

        def score(sums: list[int], metric: Any = metric) -> float:
            return float(metric._compute_score_from_stats(sums).score)

        found.append(Measure(NAMES[name], formula_of(counts, score)))
    return sorted(found, key=lambda measure: measure.name != NAMES[judging.measure])


# ROUGE --------------------------------------------------------------------------------------------


def rouge_words(text: str) -> list[str]:
    """The words that count."""
    return _WORD.findall(text.lower())


def rouge_n(right: Sequence[str], guess: Sequence[str], order: int) -> float:
    """F1 of n-grams; two texts without any are alike."""
    wanted, found = _ngrams(right, order), _ngrams(guess, order)
    if not wanted and not found:
        return float([*right] == [*guess])
    return make_score((wanted & found).total(), wanted.total(), found.total()).f1


def rouge_l(right: Sequence[str], guess: Sequence[str]) -> float:
    """F1 of the longest common subsequence."""
    if not right and not guess:
        return 1.0
    return make_score(common_subsequence(right, guess), len(right), len(guess)).f1


def common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the longest common subsequence.

    A bit per word of the first: row after row of the usual table, of which only the steps are kept,
    as one long number (Crochemore et al. 2001).
    """
    places: dict[str, int] = {}
    for place, word in enumerate(first):
        places[word] = places.get(word, 0) | 1 << place
    every = (1 << len(first)) - 1
    row = every
    for word in second:
        hits = row & places.get(word, 0)
        row = (row + hits | row - hits) & every
    return len(first) - row.bit_count()


def _ngrams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + order]) for i in range(len(words) - order + 1))
