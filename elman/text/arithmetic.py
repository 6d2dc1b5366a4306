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
from functools import partial

from elman.text.drawn_lines import DrawnConfig, Line, at_least, draw_text

LETTERS = "abcdefghijk"  # those of the paper's example
ANSWER_MARK = "="  # what follows it is determined


@dataclass(kw_only=True)
class ArithmeticConfig(DrawnConfig):
    """How hard the problems are."""

    digits: int = 8  # of the longer numbers
    distractors: int = 3  # most letters after a character of the problem; 0: none

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, "digits", 1)
        at_least(self, "distractors", 0)


def arithmetic_text(split: str, config: ArithmeticConfig | None = None) -> str:
    """The text of a split (train, valid or test): one problem with its result per line."""
    config = config or ArithmeticConfig()
    return draw_text(partial(draw_problem, config), split, config)


def draw_problem(config: ArithmeticConfig, chance: random.Random) -> Line:
    """One problem with its result; its identity is the problem without letters."""
    first, second = (_draw_number(config.digits, chance) for _ in range(2))
    sign = chance.choice("+-")
    problem = f"{first}{sign}{second}"
    result = first + second if sign == "+" else first - second
    spread = "".join(character + _letters(config.distractors, chance) for character in problem)
    return Line(f"{spread}{ANSWER_MARK}{result}", problem)


def _draw_number(digits: int, chance: random.Random) -> int:
    """A number whose length is drawn first, so that short ones are as frequent as long ones."""
    length = chance.randint(1, digits)
    return chance.randrange(10 ** (length - 1) if length > 1 else 0, 10**length)


def _letters(most: int, chance: random.Random) -> str:
    return "".join(chance.choices(LETTERS, k=chance.randint(0, most)))


def about(config: ArithmeticConfig | None = None) -> str:
    """One line: what the problems are."""
    config = config or ArithmeticConfig()
    return (
        f"sums and differences of two numbers, digits up to {config.digits}, letters after each "
        f"character of the problem up to {config.distractors}; no problem is in two "
        f"splits; what stands after {ANSWER_MARK!r} is determined: elman evaluate --accuracy "
        f"--after {ANSWER_MARK}"
    )
