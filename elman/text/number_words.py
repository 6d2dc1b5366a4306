"""Numbers in words, and their digits: a small translation that is always right or wrong.

    three hundred and forty two    3 4 2
    five thousand and seven        5 0 0 7

The target has one digit per word; a zero is written where no word stands for it, so a model must
count places and not only translate words. Every number of digits up to `digits` is as likely.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from elman.errors import InputError
from elman.text.drawn_lines import DrawnLines, Line

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
    """One number per line."""

    about = "pairs: numbers in words and their digits: number-words:digits=6"

    digits: int = 6  # of the longest numbers

    def __post_init__(self) -> None:
        super().__post_init__()
        self.at_least("digits", 3)
        if self.digits > _MOST_DIGITS:
            raise InputError(f"digits={self.digits}: there are words for {_MOST_DIGITS} at most")

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
    """A number as people say it."""
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
