"""The corpora copy, reverse and sort: right answers, requested lengths."""

from collections import Counter

import pytest

from elman.errors import InputError
from elman.text.rewriting import Copy, NumberWords, Reverse, Sort, in_words

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
        ({"symbols": 27}, "symbols=27: at most 26"),
        ({"symbols": 2, "longest": 4}, "too few sequences for three splits"),
    ],
)
def test_impossible_settings(wrong: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Copy(**wrong)


NUMBERS = {
    0: "zero",
    7: "seven",
    13: "thirteen",
    20: "twenty",
    42: "forty two",
    100: "one hundred",
    342: "three hundred and forty two",
    1000: "one thousand",
    5007: "five thousand and seven",
    10_300: "ten thousand three hundred",
    999_019: "nine hundred and ninety nine thousand and nineteen",
    2_000_001: "two million and one",
    1_000_000_000: "one billion",
}


@pytest.mark.parametrize("number", NUMBERS)
def test_in_words(number: int) -> None:
    assert in_words(number) == NUMBERS[number]


def test_every_number_has_its_own_words() -> None:
    assert len({in_words(number) for number in range(12_000)}) == 12_000


def test_lines() -> None:
    lines = NumberWords(lines=300, digits=4).text("train").splitlines()
    for words, digits in (line.split("\t") for line in lines):
        assert in_words(int(digits.replace(" ", ""))) == words
    assert {len(line.split("\t")[1].split()) for line in lines} == {1, 2, 3, 4}


@pytest.mark.parametrize("digits", [2, 13])
def test_impossible_numbers(digits: int) -> None:
    with pytest.raises(InputError, match=f"digits={digits}"):
        NumberWords(digits=digits)
