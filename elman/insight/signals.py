"""What a reader could keep count of in a text: brackets, quotes, the line, the sentence.

Takes a text cut where its tokens end, gives one number per token for each signal: how things stand
when the token has been read. Used by `followers.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_OPENING, _CLOSING = "([{<", ")]}>"
_BOTH_WAYS = '"'
_OPENING_QUOTES, _CLOSING_QUOTES = "“„«", "”»"
_ENDS = ".!?"


def signals(pieces: Sequence[str]) -> dict[str, np.ndarray]:
    """Name to (T,): inside brackets, inside quotes, place in the line, length of the sentence."""
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
    """How deep in brackets and whether in quotes after these characters."""
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
