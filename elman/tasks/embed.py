"""The question `embed`, which several tasks answer: vectors of words, and which words are near."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from elman.errors import InputError
from elman.evaluation.measures import Progress
from elman.json_safe import json_safe
from elman.tasks.neighbours import Neighbours, Occurrence, find_neighbours
from elman.tasks.question import TEXT, Answer, Question, asked, lines_of
from elman.tasks.table_lines import aligned_lines
from elman.tasks.vectors import Line, embed_lines, embedder_of, has_vectors

_WIDTH = 60  # characters of a line that are shown around a word


@dataclass(frozen=True, kw_only=True)
class Embed:
    """Give the vectors of every word of a text, each in its line."""

    text: str = asked("Sentences, one per line, words between spaces.", kind=TEXT, limit="texts")
    layer: str = asked(
        "A number from 0, the vectors from characters; all; or mix: the mean of the layers, or the "
        "mix that the task learned. By default all, and for nearest the last.",
        default="",
    )
    nearest: str = asked(
        "A word of the text: find the words nearest to its first occurrence, or to the one in line "
        "3 with bank:3.",
        default="",
    )
    top: int = asked("How many neighbours are shown.", default=10, at_least=1, limit="top")
    same_word: bool = asked(
        "Find only occurrences of the same word among the nearest.", default=False
    )


@dataclass(frozen=True)
class Vectors:
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
        """A row per word and layer, with tabs."""
        yield "line\tposition\tword\tlayer\tvector"
        for number, line in enumerate(self.embedded, 1):
            for place, word in enumerate(line.words):
                for name, vectors in zip(self.layers, line.layers, strict=True):
                    numbers = " ".join(f"{value:.6g}" for value in vectors[place])
                    yield f"{number}\t{place + 1}\t{word}\t{name}\t{numbers}"

    def notes(self) -> list[str]:
        return []


@dataclass(frozen=True)
class NearWords:
    """What is near a word: occurrences in context, and words without it."""

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

    def notes(self) -> list[str]:
        return []


def _around(one: Occurrence) -> str:
    """The words around one, as many as fit."""
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
    """The vectors of a text, or what is near one of its words."""
    if request.same_word and not request.nearest:
        raise InputError("same_word is for nearest; give both or neither")
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
    return Vectors(embed_lines(embedder, lines, layer or "all", progress), names)


EMBED = Question(Embed, embed, able=has_vectors, unit="lines")
