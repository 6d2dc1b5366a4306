"""Which tokens decide a minimal pair.

    one prefix     Katherine can't help ▸herself◂ .     / Katherine can't help ▸himself◂ .
    two prefixes   Tina ▸revealed◂ Margaret .           / The horse ▸revealed◂ Margaret .
    not named      Who should Derek hug ▸after shocking Richard◂ ?
                                         / Who should Derek hug ▸Richard after shocking◂ ?

Takes the text and the tokens of the two sentences; called by `pairs.py`. The word that a file names
is scored; else all words from the first to the last that differ. After the same beginning, words of
which one begins the other (walk, walks as characters; or nothing at all beside an added word) are
scored with the token after them, since the end of the shorter one shows there only.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from elman.text.minimal_pairs import MinimalPair, Place
from elman.text.raw_words import find_words


@dataclass(frozen=True)
class Tokens:
    """The tokens of one sentence and its line end: ids, and where each stands in the sentence."""

    text: str
    ids: np.ndarray
    starts: np.ndarray
    ends: np.ndarray

    def within(self, place: Place) -> tuple[int, int]:
        """The tokens of a place in the text; the space before it belongs to it."""
        start = len(self.text[: place[0]].rstrip())
        first = int(np.searchsorted(self.ends, start, side="right"))
        last = int(np.searchsorted(self.starts, place[1]))
        return first, max(first, last) if place[1] > place[0] else first


def deciding_tokens(
    pair: MinimalPair, good: Tokens, bad: Tokens
) -> tuple[tuple[int, int], tuple[int, int]]:
    """The first token that is scored in either sentence, and the one after the last."""
    places = pair.critical or differing_places(good.text, bad.text)
    first, second = good.within(places[0]), bad.within(places[1])
    if pair.same_beginning and _begins(good.ids[slice(*first)], bad.ids[slice(*second)]):
        return (first[0], first[1] + 1), (second[0], second[1] + 1)
    return first, second


def differing_places(good: str, bad: str) -> tuple[Place, Place]:
    """From the first to the last word or mark that differs; empty where the other has more."""
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
