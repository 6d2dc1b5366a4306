"""Which words of a text are nearest to one of them: in context, and as types.

    cosine(a, b) = a · b / (‖a‖ ‖b‖)

A word that means several things has one type vector, but a vector of its own wherever it occurs;
so the nearest occurrences share its meaning, and the nearest types need not (polysemy). Takes an
`Embedder` and lines, gives `Neighbours`; called by `elman embed --nearest`. The lines are gone
through in parts, so that only the best are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from elman.errors import InputError
from elman.tasks.vectors import Embedder

_PART = 256  # lines at a time


@dataclass(frozen=True)
class Occurrence:
    """A word at its place, and how near it is."""

    cosine: float
    line: int  # from 1
    position: int  # from 1
    word: str
    text: str  # of the line


@dataclass(frozen=True)
class WordType:
    """A word without a place, and how near it is."""

    cosine: float
    word: str


@dataclass(frozen=True)
class Neighbours:
    """What is near a word."""

    query: Occurrence
    occurrences: list[Occurrence]
    types: list[WordType]


def find_neighbours(
    embedder: Embedder,
    lines: Sequence[str],
    query: str,
    *,
    layer: str = "",
    top: int = 10,
    same_word: bool = False,
    progress: Callable[[int, int], None] = lambda more, total: None,
) -> Neighbours:
    """What is nearest to a word of the lines.

    `query`: `bank`, its first occurrence; or `bank:3`, that in line 3. `layer`: the last unless
    given. With `same_word`, occurrences of the same word only.
    """
    layer = layer or str(embedder.num_layers - 1)
    if layer == "all":
        raise InputError("--layer all: to find what is near, choose one layer or mix")
    asked, vector = _find(embedder, lines, query, layer)
    found: list[Occurrence] = []
    known: dict[str, None] = {}
    for first in range(0, len(lines), _PART):
        part = lines[first : first + _PART]
        for number, line in enumerate(embedder.embed(part), first + 1):
            known.update(dict.fromkeys(line.words))
            cosines = _cosines(vector, embedder.choose(layer, line.layers)[0])
            found += [
                Occurrence(float(cosine), number, position, word, lines[number - 1].strip())
                for position, (word, cosine) in enumerate(zip(line.words, cosines, strict=True), 1)
                if (number, position) != (asked.line, asked.position)
                and (word == asked.word or not same_word)
            ]
        found = sorted(found, key=lambda one: -one.cosine)[:top]
        progress(len(part), len(lines))
    return Neighbours(asked, found, _nearest_types(embedder, asked.word, [*known], top))


def _find(
    embedder: Embedder, lines: Sequence[str], query: str, layer: str
) -> tuple[Occurrence, np.ndarray]:
    """The word that is asked for, and its vector."""
    word, numbers = _parse(query, len(lines))
    seen: dict[str, None] = {}
    for number in numbers:
        (line,) = embedder.embed([lines[number - 1]])
        seen.update(dict.fromkeys(line.words))
        if word in line.words:
            place = line.words.index(word)
            vector = embedder.choose(layer, line.layers)[0][place]
            return Occurrence(1.0, number, place + 1, word, lines[number - 1].strip()), vector
    where = "the text" if query == word else f"line {numbers[0]}"
    close = get_close_matches(word, seen, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "give a word of it"
    raise InputError(f"--nearest {query}: {word!r} is not in {where}; {hint}")


def _parse(query: str, lines: int) -> tuple[str, Sequence[int]]:
    """The word, and the numbers of the lines in which it is looked for."""
    word, colon, number = query.rpartition(":")
    if not (colon and word and number.isdecimal()):
        return query, range(1, lines + 1)
    if not 1 <= int(number) <= lines:
        raise InputError(f"--nearest {query}: there is no line {number}; the text has {lines}")
    return word, [int(number)]


def _nearest_types(embedder: Embedder, word: str, known: Sequence[str], top: int) -> list[WordType]:
    others = [other for other in known if other != word]
    if not others:
        return []
    vectors = embedder.type_vectors([word, *others])
    cosines = _cosines(vectors[0], vectors[1:])
    best = np.argsort(-cosines, kind="stable")[:top]
    return [WordType(float(cosines[place]), others[place]) for place in best]


def _cosines(vector: np.ndarray, others: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(others, axis=1) * np.linalg.norm(vector)
    cosines: np.ndarray = others @ vector / np.maximum(lengths, 1e-12)
    return cosines
