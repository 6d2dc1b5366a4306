"""Symbols to copy, reverse and sort: the answers are right, and lengths are as asked for."""

from collections import Counter

import pytest

from elman.errors import InputError
from elman.text.symbols import Copy, Reverse, Sort

ANSWERS = {Copy: lambda words: words, Reverse: lambda words: words[::-1], Sort: sorted}


@pytest.mark.parametrize("kind", ANSWERS)
def test_answers(kind: type) -> None:
    for line in kind(lines=200).text("train").splitlines():
        source, target = (side.split() for side in line.split("\t"))
        assert target == [*ANSWERS[kind](source)]


def test_lengths_are_spread_evenly_over_what_is_asked_for() -> None:
    text = Reverse(lines=9000, shortest=3, longest=8, symbols=5).text("train")
    sources = [line.split("\t")[0].split() for line in text.splitlines()]
    lengths = Counter(map(len, sources))
    assert sorted(lengths) == [3, 4, 5, 6, 7, 8]
    assert min(lengths.values()) > 1200  # of 1,500
    assert {word for source in sources for word in source} == {*"abcde"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"shortest": 5, "longest": 4}, "longest=4: must be at least 5"),
        ({"symbols": 27}, "symbols=27: there are 26"),
        ({"symbols": 2, "longest": 4}, "too few sequences for three splits"),
    ],
)
def test_impossible_settings(wrong: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Copy(**wrong)
