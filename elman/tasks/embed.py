"""The question `embed`, shared by several tasks: word vectors and nearest neighbours.

cosine(a, b) = a · b / (‖a‖ ‖b‖)

An ambiguous word has one type vector, but a different contextual vector at each occurrence. So its
nearest occurrences share its meaning; its nearest types need not (polysemy). Lines are processed in
parts, and only the best neighbours are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from elman.errors import InputError
from elman.evaluation.measures import Progress
from elman.json_safe import json_safe
from elman.tasks.question import TEXT, Answer, Question, aligned_lines, asked, lines_of
from elman.tasks.vectors import Embedder, Line, embed_lines, embedder_of, has_vectors

_WIDTH = 60  # characters of a line that are shown around a word
_PART = 256  # lines at a time


@dataclass(frozen=True, kw_only=True)
class Embed:
    """Compute a vector for every word of a text, in the context of its line."""

    text: str = asked(
        "Sentences, one per line, with spaces between words.", kind=TEXT, limit="texts"
    )
    layer: str = asked(
        "A layer number, all, or mix. 0 is the character layer; mix is the mean of the layers, or "
        "the mix that the task learned. Default: all, or the last layer with nearest.",
        default="",
    )
    nearest: str = asked(
        "Show the nearest neighbours of this word instead of vectors: bank is its first occurrence "
        "in the text, bank:3 the one in line 3.",
        default="",
    )
    top: int = asked("The number of neighbours to show.", default=10, at_least=1, limit="top")
    same_word: bool = asked("Show only other occurrences of the same word.", default=False)
    carry_state: int = asked(
        "Start each line of an ELMo run from the state after an earlier line, as the original code "
        "does with batches of this many lines: with 1 the previous line, with 32 the line 32 "
        "before. Vectors then depend on the order of the lines. 0: every line starts anew.",
        default=0,
        at_least=0,
    )


@dataclass(frozen=True)
class Vectors(Answer):
    """The words of every line with their vectors, layer by layer."""

    embedded: list[Line]
    layers: list[str]  # names of the layers

    def to_data(self) -> dict[str, Any]:
        return {
            "lines": [
                {"words": [*line.words], "layers": line.layers.tolist()} for line in self.embedded
            ]
        }

    def lines(self) -> Iterable[str]:
        """One tab-separated row per word and layer."""
        yield "line\tposition\tword\tlayer\tvector"
        for number, line in enumerate(self.embedded, 1):
            for place, word in enumerate(line.words):
                for name, vectors in zip(self.layers, line.layers, strict=True):
                    numbers = " ".join(f"{value:.6g}" for value in vectors[place])
                    yield f"{number}\t{place + 1}\t{word}\t{name}\t{numbers}"


@dataclass(frozen=True)
class NearWords(Answer):
    """The neighbours of a word: occurrences in context, and word types without context."""

    found: Neighbours

    def to_data(self) -> dict[str, Any]:
        data: dict[str, Any] = json_safe(self.found)
        return data

    def lines(self) -> Iterable[str]:
        query = self.found.query
        yield f"{query.word}, in line {query.line}: {_around(query)}\n"
        rows = [[one.cosine, one.line, one.word, _around(one)] for one in self.found.occurrences]
        yield from aligned_lines(["cosine", "line", "word", "in its line"], rows)
        yield "\nwithout context:\n"
        types = [[one.cosine, one.word] for one in self.found.types]
        yield from aligned_lines(["cosine", "word"], types)


def _around(one: Occurrence) -> str:
    """A word with as much context as fits."""
    words = one.text.split()
    first = last = min(one.position - 1, len(words) - 1)
    words[first] = f"[{words[first]}]"
    while (
        sum(map(len, words[first : last + 1])) + last - first < _WIDTH
        and last - first < len(words) - 1
    ):
        first, last = max(first - 1, 0), min(last + 1, len(words) - 1)
    before, after = "… " * (first > 0), " …" * (last < len(words) - 1)
    return before + " ".join(words[first : last + 1]) + after


def embed(trained: Any, request: Embed, progress: Progress) -> Answer:
    """The vectors of a text, or the neighbours of one of its words."""
    if request.same_word and not request.nearest:
        raise InputError("same_word needs nearest; give both or neither")
    if request.carry_state and request.nearest:
        raise InputError("carry_state cannot be combined with nearest; leave out one")
    embedder, lines, layer = (
        embedder_of(trained, trained.name),
        lines_of(request.text),
        request.layer,
    )
    if not request.text.strip():
        raise InputError("text is empty; give some text")
    if request.nearest:
        found = find_neighbours(
            embedder,
            lines,
            request.nearest,
            layer=layer,
            top=request.top,
            same_word=request.same_word,
            progress=progress,
        )
        return NearWords(found)
    names = [*map(str, range(embedder.num_layers))] if layer in ("", "all") else [layer]
    embedded = embed_lines(embedder, lines, layer or "all", progress, request.carry_state)
    return Vectors(embedded, names)


# Neighbours ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Occurrence:
    """A word in its line, and its similarity to the query."""

    cosine: float
    line: int  # from 1
    position: int  # from 1
    word: str
    text: str  # of the line


@dataclass(frozen=True)
class WordType:
    """A word without context, and its similarity to the query."""

    cosine: float
    word: str


@dataclass(frozen=True)
class Neighbours:
    """The neighbours of a word."""

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
    """Find the nearest neighbours of a word.

    `query`: `bank` is its first occurrence, `bank:3` the one in line 3. `layer`: default the last.
    With `same_word`, only occurrences of the same word are found.
    """
    layer = layer or str(embedder.num_layers - 1)
    if layer == "all":
        raise InputError("--layer all: to find neighbours, choose one layer or mix")
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
    """Find the query in the lines, and its vector."""
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
    hint = f"did you mean {close[0]!r}?" if close else "choose a word that occurs there"
    raise InputError(f"--nearest {query}: {word!r} is not in {where}; {hint}")


def _parse(query: str, lines: int) -> tuple[str, Sequence[int]]:
    """The word, and the numbers of the lines to search."""
    word, colon, number = query.rpartition(":")
    if not (colon and word and number.isdecimal()):
        return query, range(1, lines + 1)
    if not 1 <= int(number) <= lines:
        raise InputError(
            f"--nearest {query}: there is no line {number}; the text has {lines} lines"
        )
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


EMBED = Question(Embed, embed, able=has_vectors, unit="lines")
