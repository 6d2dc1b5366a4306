"""Corpora of sequences to rewrite: copy, reverse or sort symbols, or write numbers as digits."""

from __future__ import annotations

import random
import string
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from elman.errors import InputError
from elman.text.corpora import DrawnLines, Line


@dataclass(kw_only=True)
class _Symbols(DrawnLines):
    """Sequences of symbols to copy, reverse or sort: tasks with an exactly known answer.

        c a b    c a b        copy         reverse   b a c        sort   a b c

    A line has a source of `shortest` to `longest` symbols, all lengths equally likely, a tab, and
    the target. A model without attention must store the whole source in one vector, which gets
    harder with length; with attention it looks at one symbol after the other. Sutskever, Vinyals
    and Le (2014) and Bahdanau, Cho and Bengio (2015) study that difference.
    """

    symbols: int = 26  # number of letters to draw from
    shortest: int = 1
    longest: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        self.at_least("symbols", 2)
        self.at_least("shortest", 1)
        self.at_least("longest", self.shortest)
        if self.symbols > len(string.ascii_lowercase):
            raise InputError(f"symbols={self.symbols}: at most {len(string.ascii_lowercase)}")
        if self.symbols**self.longest < 1000:
            raise InputError(
                f"symbols={self.symbols}, longest={self.longest}: too few sequences for three "
                "splits; use more symbols, or longer sequences"
            )

    @abstractmethod
    def answer(self, sequence: Sequence[str]) -> Sequence[str]:
        """The target of a source."""

    def draw(self, chance: random.Random) -> Line:
        length = chance.randint(self.shortest, self.longest)
        sequence = chance.choices(string.ascii_lowercase[: self.symbols], k=length)
        source = " ".join(sequence)
        return Line(f"{source}\t{' '.join(self.answer(sequence))}", source)

    def details(self) -> str:
        return (
            f"pairs of {self.shortest} to {self.longest} symbols out of {self.symbols}, source and "
            "target with a tab between them; no source is in two splits"
        )


@dataclass(kw_only=True)
class Copy(_Symbols):
    """The target repeats the source."""

    about = "pairs: repeat a sequence of symbols: copy:longest=20,symbols=26"

    def answer(self, sequence: Sequence[str]) -> Sequence[str]:
        return sequence


@dataclass(kw_only=True)
class Reverse(_Symbols):
    """The target is the source in reverse order."""

    about = "pairs: reverse a sequence of symbols: reverse:longest=20,lines=50000"

    def answer(self, sequence: Sequence[str]) -> Sequence[str]:
        return sequence[::-1]


@dataclass(kw_only=True)
class Sort(_Symbols):
    """The target is the source in alphabetical order."""

    about = "pairs: sort a sequence of symbols: sort:longest=10"

    def answer(self, sequence: Sequence[str]) -> Sequence[str]:
        return sorted(sequence)


_SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_GROUPS = ("", "thousand", "million", "billion")
_MOST_DIGITS = 3 * len(_GROUPS)


@dataclass(kw_only=True)
class NumberWords(DrawnLines):
    """Numbers in words, and their digits: a small translation task with one right answer.

        three hundred and forty two    3 4 2
        five thousand and seven        5 0 0 7

    The target has the digits, separated by spaces. No word stands for a zero, so a model must count
    places and not only translate words. All numbers of digits up to `digits` are equally likely.
    """

    about = "pairs: write a number in words as digits: number-words:digits=6"

    digits: int = 6  # largest number of digits

    def __post_init__(self) -> None:
        super().__post_init__()
        self.at_least("digits", 3)
        if self.digits > _MOST_DIGITS:
            raise InputError(f"digits={self.digits}: must be at most {_MOST_DIGITS}")

    def draw(self, chance: random.Random) -> Line:
        length = chance.randint(1, self.digits)
        number = chance.randrange(10 ** (length - 1) if length > 1 else 0, 10**length)
        words = in_words(number)
        return Line(f"{words}\t{' '.join(str(number))}", words)

    def details(self) -> str:
        return (
            f"numbers of one to {self.digits} digits in words and in digits, with a tab between "
            "them; no number is in two splits"
        )


def in_words(number: int) -> str:
    """A number in English words."""
    if number == 0:
        return _SMALL[0]
    words: list[str] = []
    for place in reversed(range(len(_GROUPS))):
        group = number // 1000**place % 1000
        if group:
            joined = bool(words) and place == 0 and group < 100
            words += [*(["and"] if joined else []), *_below_thousand(group)]
            words += [_GROUPS[place]] if place else []
    return " ".join(words)


def _below_thousand(number: int) -> list[str]:
    hundreds, rest = divmod(number, 100)
    words = [_SMALL[hundreds], "hundred"] if hundreds else []
    if hundreds and rest:
        words.append("and")
    if rest >= len(_SMALL):
        words.append(_TENS[rest // 10 - 2])
        rest %= 10
    return words + ([_SMALL[rest]] if rest else [])
