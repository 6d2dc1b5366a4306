"""Numbers in words."""

import pytest

from elman.errors import InputError
from elman.text.number_words import NumberWords, in_words

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
def test_impossible_settings(digits: int) -> None:
    with pytest.raises(InputError, match=f"digits={digits}"):
        NumberWords(digits=digits)
