"""Corpora whose lines are drawn one by one, each line independent of the others.

A corpus says how to draw one line and gets the text of each split. A line belongs to one split for
ever, whatever the seed and the size: a fingerprint of what it asks decides. So no model, however
much of the training text it has seen, has met a line of the test text.
"""

from __future__ import annotations

import random
import zlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from elman.errors import InputError, choose


class BuiltInCorpus(ABC):
    """What a built-in corpus is: text by split, without a file.

    A corpus is a dataclass and a line in `CORPORA` (`corpora.py`); its
    settings, as in `arithmetic:digits=3`, are its fields.
    """

    about: ClassVar[str]  # one line for lists

    @abstractmethod
    def text(self, split: str) -> str:
        """The text of a split: train, valid or test."""

    @abstractmethod
    def details(self) -> str:
        """One line: what someone who uses it should know, the settings among it."""


# Of 20 lines drawn, how many go to which split.
_SHARES = {"train": range(2, 20), "valid": range(1), "test": range(1, 2)}
_HELD_OUT_SHARE = 20  # valid and test text have one line for so many of the training text


class Line(NamedTuple):
    """A line, and what makes it another than other lines (its problem without decoration)."""

    text: str
    identity: str


@dataclass(kw_only=True)
class DrawnLines(BuiltInCorpus):
    """What all such corpora can be asked for."""

    lines: int = 20_000  # of the training text; validation and test text have a twentieth each
    seed: int = 0

    def __post_init__(self) -> None:
        self.at_least("lines", _HELD_OUT_SHARE)
        self.at_least("seed", 0)

    def at_least(self, name: str, least: int) -> None:
        """Refuse a setting that is too small."""
        if getattr(self, name) < least:
            raise InputError(f"{name}={getattr(self, name)}: must be at least {least}")

    @abstractmethod
    def draw(self, chance: random.Random) -> Line:
        """One line."""

    def text(self, split: str) -> str:
        """The text of a split, one line per draw that belongs to it."""
        share = choose(_SHARES, split, "split")
        number = self.lines if split == "train" else self.lines // _HELD_OUT_SHARE
        chance = random.Random(f"{split} {self.seed}")
        texts: list[str] = []
        while len(texts) < number:
            line = self.draw(chance)
            if zlib.crc32(line.identity.encode()) % _HELD_OUT_SHARE in share:
                texts.append(line.text)
        return "".join(f"{text}\n" for text in texts)
