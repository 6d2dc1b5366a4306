"""ROUGE: how many words, pairs of words, and words in order a summary shares with the right one.

    ROUGE-n   F1 of the n-grams, taken as bags
    ROUGE-L   F1 of the longest common subsequence of words

Lin (2004). Words are runs of letters and digits in lower case, without stemming. Takes two texts,
gives a share from 0 to 1; called by `measures.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from elman.evaluation.measures import make_score

_WORD = re.compile(r"\w+")


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
