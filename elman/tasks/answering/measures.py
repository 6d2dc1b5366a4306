"""How good answers are: exact match and F1, as SQuAD measures them (Rajpurkar et al. 2016).

Answers are compared in lower case, without punctuation, articles and superfluous spaces. F1 is that
of their words, taken as bags; of several right answers the best one counts. Takes the guessed
answers and the right ones, gives `AnswerMeasures`; called by the task of answering.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from elman.evaluation.measures import TaskMeasures, make_score

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class AnswerMeasures(TaskMeasures):
    """Measures of guessed answers."""

    exact_match: float
    f1: float
    questions: int
    left_out: int = 0  # questions without a right answer

    def rows(self) -> list[tuple[str, Any]]:
        return [
            ("exact match", self.exact_match),
            ("F1", self.f1),
            ("questions", self.questions),
            *([("left out, having no answer", self.left_out)] if self.left_out else []),
        ]

    def to_data(self) -> dict[str, Any]:
        return dict(vars(self))


def measure_answers(
    right: Sequence[Sequence[str]], guessed: Sequence[str], *, left_out: int = 0
) -> AnswerMeasures:
    """Measures of one guess per question; `right`: all its right answers."""
    exact = total = 0.0
    for answers, guess in zip(right, guessed, strict=True):
        exact += max(normalise(answer) == normalise(guess) for answer in answers)
        total += max(word_f1(answer, guess) for answer in answers)
    count = max(len(right), 1)
    return AnswerMeasures(exact / count, total / count, len(right), left_out)


def normalise(answer: str) -> str:
    """What of an answer counts."""
    without = answer.lower().translate(_WITHOUT_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", without).split())


def word_f1(right: str, guess: str) -> float:
    """F1 of the words of a guess; where either has none that count, whether both have none."""
    words, guessed = normalise(right).split(), normalise(guess).split()
    if not words or not guessed:
        return float(words == guessed)
    hits = (Counter(words) & Counter(guessed)).total()
    return make_score(hits, len(words), len(guessed)).f1
