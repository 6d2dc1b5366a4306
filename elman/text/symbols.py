"""Sequences of symbols to copy, to reverse or to sort: tasks whose answer is known exactly.

    c a b    c a b        copy         reverse   b a c        sort   a b c

A source of `shortest` to `longest` symbols, every length as likely, and its target, with a tab
between them. A model without attention must keep the whole source in one vector, and the longer the
source, the less it can; with attention it looks at one symbol after the other. Sutskever, Vinyals
and Le (2014) and Bahdanau, Cho and Bengio (2015) are about that difference.
"""

from __future__ import annotations

import random
import string
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from elman.errors import InputError
from elman.text.drawn_lines import DrawnLines, Line


@dataclass(kw_only=True)
class _Symbols(DrawnLines):
    """One sequence and what becomes of it per line."""

    symbols: int = 26  # how many letters there are to draw from
    shortest: int = 1
    longest: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        self.at_least("symbols", 2)
        self.at_least("shortest", 1)
        self.at_least("longest", self.shortest)
        if self.symbols > len(string.ascii_lowercase):
            raise InputError(f"symbols={self.symbols}: there are {len(string.ascii_lowercase)}")
        if self.symbols**self.longest < 1000:
            raise InputError(
                f"symbols={self.symbols}, longest={self.longest}: there are too few sequences for "
                "three splits; take more symbols, or longer sequences"
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
    """The source once more."""

    about = "pairs: symbols and the same symbols: copy:longest=20,symbols=26"

    def answer(self, sequence: Sequence[str]) -> Sequence[str]:
        return sequence


@dataclass(kw_only=True)
class Reverse(_Symbols):
    """The source from its end to its beginning."""

    about = "pairs: symbols and the same from the end: reverse:longest=20,lines=50000"

    def answer(self, sequence: Sequence[str]) -> Sequence[str]:
        return sequence[::-1]


@dataclass(kw_only=True)
class Sort(_Symbols):
    """The source in alphabetical order."""

    about = "pairs: symbols and the same in alphabetical order: sort:longest=10"

    def answer(self, sequence: Sequence[str]) -> Sequence[str]:
        return sorted(sequence)
