"""Hash parts of words into a table: character n-grams, prefixes and suffixes.

Words come as symbols (…, L), as `text/spelling.py: spell` gives them: begin, bytes, end, padding.
The hash of a part does not depend on its position; different parts sometimes collide. Upper and
lower case of ASCII letters are the same.
"""

from __future__ import annotations

import torch

from elman.text.spelling import BEGIN, END

_UPPER = ord("A") + 1, ord("Z") + 1  # symbols are bytes plus one
_TO_LOWER = ord("a") - ord("A")
_CAPITALS, _SMALLS, _DIGITS = (65, 90), (97, 122), (48, 57)  # bytes
_FACTOR = 0x5BD1E995
_MIX = -0x61C8864680B583EB  # 2^64 over the golden ratio; products wrap around


def lower(spelled: torch.Tensor) -> torch.Tensor:
    """Words in symbols, in lower case."""
    capital = (spelled >= _UPPER[0]) & (spelled <= _UPPER[1])
    return spelled + _TO_LOWER * capital


def combine(parts: torch.Tensor, kind: int) -> torch.Tensor:
    """Hash the numbers along the last axis into one; each `kind` has its own hash."""
    found = torch.full(parts.shape[:-1], kind + 1, dtype=torch.long, device=parts.device)
    for part in parts.unbind(-1):
        found = found * _FACTOR + part
    return found


def into_table(numbers: torch.Tensor, size: int) -> torch.Tensor:
    """Places from 0 to size - 1, evenly distributed."""
    return ((numbers * _MIX) >> 33).remainder(size)


def character_ngrams(spelled: torch.Tensor, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The n-grams of each word with its begin and end marks, (…, L - width + 1), and which exist.

    A word that is too short, marks included, has none.
    """
    if spelled.shape[-1] < width:
        nothing = spelled[..., :0]
        return nothing, nothing.bool()
    windows = lower(spelled).unfold(-1, width, 1)
    return combine(windows, width), windows[..., -1] != 0


def affixes(spelled: torch.Tensor, longest: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Prefixes and suffixes of 1 to `longest` bytes of each word, (…, 2 · longest), and which
    exist: a word of two bytes has no prefix of three.
    """
    small = lower(spelled)
    lengths = ((spelled != 0) & (spelled != BEGIN) & (spelled != END)).sum(-1)
    found, real = [], []
    for size in range(1, longest + 1):
        steps = torch.arange(size, device=spelled.device)
        ends = (lengths[..., None] - size + 1 + steps).clamp(min=0)
        starts = (1 + steps).expand_as(ends).clamp(max=spelled.shape[-1] - 1)
        found += [
            combine(small.gather(-1, places), 2 * size + side)
            for side, places in enumerate((starts, ends))
        ]
        real += [lengths >= size] * 2
    return torch.stack(found, -1), torch.stack(real, -1)


def shapes(spelled: torch.Tensor) -> torch.Tensor:
    """A number for the shape of each word: the kind of its first character, and which kinds occur:
    capital and small letters, digits and other marks, (…).
    """
    kinds = torch.stack([_within(spelled, *kind) for kind in (_CAPITALS, _SMALLS, _DIGITS)], -1)
    marks = (spelled > 0) & (spelled < BEGIN) & ~kinds.any(-1)
    found = torch.cat([kinds.any(-2), kinds[..., 1, :], marks.any(-1, keepdim=True)], -1)  # (…, 7)
    return (found * 2 ** torch.arange(7, device=spelled.device)).sum(-1)


def _within(spelled: torch.Tensor, first: int, last: int) -> torch.Tensor:
    return (spelled > first) & (spelled <= last + 1)  # symbols are bytes plus one
