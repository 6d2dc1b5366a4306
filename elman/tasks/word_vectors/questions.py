"""The questions of word vectors: the nearest words, analogies, and the vectors of a text.

    king - man + woman      the words nearest to v(king) - v(man) + v(woman), all of length 1

An analogy is solved by adding and subtracting vectors (Mikolov et al. 2013); its own words are no
answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from elman.errors import InputError
from elman.evaluation.measures import Progress
from elman.tasks.embed import EMBED
from elman.tasks.question import ARGUMENT, Answer, Question, aligned_lines, asked

_SIGNS = {"+": 1.0, "-": -1.0, "−": -1.0}


@dataclass(frozen=True, kw_only=True)
class Nearest:
    """Find the words nearest to a word, or solve an analogy.

    For example:
      elman nearest runs/vectors film
      elman nearest runs/vectors "king - man + woman" --top 5 --json
    """

    words: str = asked(
        'A word, or words to add and subtract: "king - man + woman".', kind=ARGUMENT, default=""
    )
    top: int = asked("The number of words to show.", default=10, at_least=1, limit="top")


@dataclass(frozen=True)
class NearWord:
    """A word and its cosine."""

    word: str
    cosine: float


@dataclass(frozen=True)
class NearestWords(Answer):
    """The nearest words, the most similar first."""

    nearest: list[NearWord]

    def to_data(self) -> dict[str, Any]:
        return {"nearest": [dict(vars(one)) for one in self.nearest]}

    def lines(self) -> Iterable[str]:
        return aligned_lines(["cosine", "word"], [[one.cosine, one.word] for one in self.nearest])


def nearest(trained: Any, request: Nearest, progress: Progress) -> NearestWords:
    """Rank the vocabulary by the cosine with the words of the request."""
    weights = _parse(request.words)
    ids = [_find(trained, word) for word in weights]
    table = trained.table
    table = table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-12)
    wanted = np.array([*weights.values()]) @ table[ids]
    cosines = table @ wanted / max(float(np.linalg.norm(wanted)), 1e-12)
    cosines[ids] = -np.inf
    best = np.argsort(-cosines, kind="stable")[: min(request.top, len(cosines) - len({*ids}))]
    return NearestWords([NearWord(trained.words[place], float(cosines[place])) for place in best])


def _parse(text: str) -> dict[str, float]:
    """The words of `king - man + woman`, each with its weight."""
    weights: dict[str, float] = {}
    sign = 1.0
    for word in text.split():
        if word in _SIGNS:
            sign = _SIGNS[word]
        else:
            weights[word] = weights.get(word, 0.0) + sign
            sign = 1.0
    if not weights:
        raise InputError('words is empty; give a word, or an analogy like "king - man + woman"')
    return weights


def _find(trained: Any, word: str) -> int:
    """The place of a word in the table; similar words if it is not there."""
    (number,) = trained.task.words.ids([word])
    if number == 0:
        close = get_close_matches(word, trained.words, n=1)
        hint = f"did you mean {close[0]!r}?" if close else "choose a word of the training text"
        raise InputError(f"{trained.name}: has no vector of {word!r}; {hint}")
    return int(number) - 1


QUESTIONS = {"nearest": Question(Nearest, nearest), "embed": EMBED}
