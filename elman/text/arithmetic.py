"""Sums and differences among distractors: what a cell must remember, and what it must ignore.

    3e36d9-h1h39f94eeh43keg3c=-13991064        3369 - 13994433

Letters stand between the characters of the problem and mean nothing; after `=` comes the result. A
model that reads the line can know every character after `=`, and the end of the line. The second of
the two numbers is added or taken away; both have from one to `digits` digits. Józefowicz, Zaremba
and Sutskever (2015): An empirical exploration of recurrent network architectures.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from elman.text.drawn_lines import DrawnLines, Line

LETTERS = "abcdefghijk"  # those of the paper's example
_ANSWER_MARK = "="  # what follows it is determined


@dataclass(kw_only=True)
class Arithmetic(DrawnLines):
    """One problem with its result per line."""

    about = "sums and differences among distractors: arithmetic:digits=3,lines=5000"

    digits: int = 8  # of the longer numbers
    distractors: int = 3  # most letters after a character of the problem; 0: none

    def __post_init__(self) -> None:
        super().__post_init__()
        self.at_least("digits", 1)
        self.at_least("distractors", 0)

    def draw(self, chance: random.Random) -> Line:
        """One problem with its result; its identity is the problem without letters."""
        first, second = (_draw_number(self.digits, chance) for _ in range(2))
        sign = chance.choice("+-")
        problem = f"{first}{sign}{second}"
        result = first + second if sign == "+" else first - second
        spread = "".join(character + _letters(self.distractors, chance) for character in problem)
        return Line(f"{spread}{_ANSWER_MARK}{result}", problem)

    def details(self) -> str:
        return (
            f"sums and differences of two numbers, digits up to {self.digits}, letters after each "
            f"character of the problem up to {self.distractors}; no problem is in two "
            f"splits; what stands after {_ANSWER_MARK!r} is determined: elman evaluate --accuracy "
            f"--after {_ANSWER_MARK}"
        )


def _draw_number(digits: int, chance: random.Random) -> int:
    """A number whose length is drawn first, so that short ones are as frequent as long ones."""
    length = chance.randint(1, digits)
    return chance.randrange(10 ** (length - 1) if length > 1 else 0, 10**length)


def _letters(most: int, chance: random.Random) -> str:
    return "".join(chance.choices(LETTERS, k=chance.randint(0, most)))
