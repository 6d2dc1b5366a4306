"""The units that best track brackets, quotes, the line or the sentence, by correlation.

    r(u, s) = Pearson's correlation of unit u's values with signal s over the tokens of the text

Hidden units and cells of all layers take part. In a short text, the best of many units correlates
with any signal. So each result has a chance level: the correlation of the best unit with the signal
rotated along the text, as the 95th percentile over many rotations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from elman.insight.insight import Drawing, Insight, Subject, numbers
from elman.insight.recording import activations

_OPENING, _CLOSING = "([{<", ")]}>"
_BOTH_WAYS = '"'
_OPENING_QUOTES, _CLOSING_QUOTES = "“„«", "”»"
_ENDS = ".!?"


def signals(pieces: Sequence[str]) -> dict[str, np.ndarray]:
    """Name to (T,): inside brackets, inside quotes, place in the line, length of the sentence.

    Signals that a reader could track. Takes a text split at token ends, gives one number per token
    for each signal: its value after the token.
    """
    brackets = quotes = line = sentence = 0
    found: dict[str, list[float]] = {
        name: [] for name in ("brackets", "quotes", "line", "sentence")
    }
    for piece in pieces:
        brackets, quotes = _nested(piece, brackets, quotes)
        newline = "\n" in piece
        line = len(piece) - piece.rindex("\n") - 1 if newline else line + len(piece)
        # The token that ends a sentence belongs to it; the next one begins with length 1.
        sentence = 0 if newline else sentence + 1
        for name, value in zip(found, (brackets, quotes, line, sentence), strict=True):
            found[name].append(value)
        if piece.strip().endswith(tuple(_ENDS)):
            sentence = 0
        if newline:
            brackets = quotes = 0
    return {
        {
            "brackets": "how deep in brackets",
            "quotes": "inside quotes",
            "line": "characters since the line began",
            "sentence": "tokens since the sentence began",
        }[name]: np.array(values, dtype=float)
        for name, values in found.items()
    }


def _nested(piece: str, brackets: int, quotes: int) -> tuple[int, int]:
    """The bracket depth, and whether a quote is open, after these characters."""
    if piece.strip() in ("``", "''"):  # as treebanks write quotes
        return brackets, int(piece.strip() == "``")
    for character in piece:
        if character in _OPENING:
            brackets += 1
        elif character in _CLOSING:
            brackets = max(brackets - 1, 0)
        elif character == _BOTH_WAYS:
            quotes = 1 - quotes
        elif character in _OPENING_QUOTES:
            quotes = 1
        elif character in _CLOSING_QUOTES:
            quotes = 0
    return brackets, quotes


_TOP = 5
_TURNS = 40


@dataclass(frozen=True)
class Follower:
    """A unit that tracks a signal."""

    layer: str  # "layer 1 cell"
    unit: int  # from 1
    correlation: float
    values: np.ndarray  # (T,)


@dataclass(frozen=True)
class Followed:
    """A signal of the text, and the units that track it best."""

    signal: str
    values: np.ndarray  # (T,)
    chance: float  # correlation of the best unit by chance
    best: list[Follower]


@dataclass(frozen=True)
class Followers(Insight):
    """The best units of all signals that change in the text."""

    about: ClassVar[str] = "the units that best track brackets, quotes, line or sentence"

    tokens: list[str]
    pieces: list[str]  # the text, split at token ends
    followed: list[Followed]
    absent: list[str]  # signals that do not change in this text

    @classmethod
    def look(cls, subject: Subject) -> Followers:
        found = {
            name: values
            for name, values in activations(subject).items()
            if name.endswith(("hidden", "cell"))
        }
        names = [(name, unit) for name, values in found.items() for unit in range(values.shape[1])]
        units = np.concatenate([*found.values()], axis=1)  # (T, all units)
        followed, absent = [], []
        for signal, values in signals(subject.pieces).items():
            if len(values) < 3 or values.std() == 0:
                absent.append(signal)
                continue
            correlations = _correlations(units, values)
            best = np.argsort(-np.abs(correlations), kind="stable")[:_TOP]
            followers = [
                Follower(names[u][0], names[u][1] + 1, float(correlations[u]), units[:, u])
                for u in best
            ]
            followed.append(Followed(signal, values, _by_chance(units, values), followers))
        return cls(subject.tokens, subject.pieces, followed, absent)

    def to_data(self) -> dict[str, Any]:
        return {
            "tokens": self.tokens,
            "pieces": self.pieces,
            "absent": self.absent,
            "followed": [
                {
                    "signal": one.signal,
                    "values": numbers(one.values),
                    "chance": one.chance,
                    "best": [{**vars(unit), "values": numbers(unit.values)} for unit in one.best],
                }
                for one in self.followed
            ],
        }

    def drawings(self) -> list[Drawing]:
        drawn = []
        for one in self.followed:
            best = one.best[0]
            words = [
                {"text": token, "value": value, "note": f"{one.signal}: {signal:g}"}
                for token, value, signal in zip(
                    self.pieces, numbers(best.values), one.values, strict=True
                )
            ]
            title = f"{one.signal}: {best.layer} {best.unit}, r = {best.correlation:+.2f}"
            arguments = {"title": title, "words": words, "diverging": True, "label": "value"}
            drawn.append(Drawing("colouredText", arguments))
        return drawn

    def summary(self) -> list[str]:
        said = [
            f"{one.signal}: {one.best[0].layer} {one.best[0].unit} follows with r = "
            f"{one.best[0].correlation:+.2f} (the best of all units by chance: {one.chance:.2f})."
            for one in self.followed
        ]
        if self.absent:
            said.append(f"Does not change in this text: {', '.join(self.absent)}.")
        return said


def _correlations(units: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Pearson's r of each column with the values; 0 for a unit that never moves."""
    centred = units - units.mean(0)
    signal = values - values.mean()
    lengths = np.linalg.norm(centred, axis=0) * np.linalg.norm(signal)
    return signal @ centred / np.where(lengths > 0, lengths, np.inf)


def _by_chance(units: np.ndarray, values: np.ndarray) -> float:
    turns = np.unique(np.linspace(1, len(values) - 1, _TURNS).astype(int))
    best = [np.abs(_correlations(units, np.roll(values, turn))).max() for turn in turns]
    return float(np.percentile(best, 95))
