"""Question answering: find the part of a passage that answers a question.

`Answering` is the task, `TrainedAnswerer` the result of `elman.train` and `elman.load`. Questions
without an answer are neither trained on nor measured, only counted.

Exact match and F1 follow SQuAD (Rajpurkar et al. 2016): answers are compared in lower case, without
punctuation, articles and superfluous spaces. F1 compares bags of words; if a question has several
correct answers, the best match counts.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch

from elman.batches.buckets import plan_epoch
from elman.batches.featured import IndexedMatches
from elman.batches.sentences import Examples, IndexedSentences
from elman.errors import InputError
from elman.evaluation.bootstrap import Measure, mean_of
from elman.evaluation.measures import Progress, TaskMeasures, make_score, silent
from elman.models.answerer import Answerer
from elman.recipes import RunConfig
from elman.tasks.answering.reader import PlacedWords, Question, read_questions
from elman.tasks.arguments import check_one_text, check_pairs, check_text
from elman.tasks.sentence_task import SentenceTask, TrainedSentenceTask, learn_words
from elman.text.example_splits import Splitter
from elman.text.reader import Document
from elman.text.word_list import WordList

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


class TrainedAnswerer(TrainedSentenceTask):
    """A trained answering model with its vocabulary."""

    about = "an answerer"
    task: Answering
    model: Answerer

    def answer(self, question: str, passage: str) -> FoundAnswer:
        """The most probable answer to one question."""
        check_one_text(question, "question")
        check_one_text(passage, "passage")
        return self.answer_all([(question, passage)])[0]

    def answer_all(
        self,
        pairs: Iterable[tuple[str, str]],
        *,
        batch_size: int = 32,
        progress: Progress = silent,
    ) -> list[FoundAnswer]:
        """The most probable answer to every question."""
        pairs = check_pairs(pairs, "pairs", ("question", "passage"))
        for number, both in enumerate(pairs, 1):
            check_text(both[0], f"question {number}")
            check_text(both[1], f"the passage of question {number}")
        read = [(PlacedWords.of(question), PlacedWords.of(passage)) for question, passage in pairs]
        for number, (question, passage) in enumerate(read, 1):
            which = f" {number}" if len(read) > 1 else ""
            if not question.words:
                raise InputError(f"question{which} is empty; ask something")
            if not passage.words:
                raise InputError(f"the passage of question{which} is empty; give some text")
        return self._answer(read, batch_size, progress)

    def _answer(
        self,
        pairs: Sequence[tuple[PlacedWords, PlacedWords]],
        batch_size: int,
        progress: Progress = silent,
    ) -> list[FoundAnswer]:
        self.model.eval()
        inputs = self.task.index_pairs(pairs)
        found: dict[int, FoundAnswer] = {}
        device = next(self.model.parameters()).device
        with torch.inference_mode():
            for rows in plan_epoch(inputs[1].lengths, batch_size, None, 0):
                spans = self.model.best(*(part.batch(rows).to(device) for part in inputs))
                numbers = (part.tolist() for part in (torch.from_numpy(rows), *spans))
                for row, first, last, log_prob in zip(*numbers, strict=True):
                    found[row] = _found(pairs[row][1], first, last, log_prob)
                progress(len(rows), len(pairs))
        return [found[row] for row in range(len(pairs))]

    def measure(self, examples: Sequence[Question]) -> AnswerMeasures:
        answered = [example for example in examples if example.answers]
        found = self._answer([(example.question, example.passage) for example in answered], 32)
        return measure_answers(
            [[answer.text for answer in example.answers] for example in answered],
            [guess.text for guess in found],
            left_out=len(examples) - len(answered),
        )

    def references(self, examples: Sequence[Question]) -> list[Any]:
        return [example for example in examples if example.answers]

    def measures_of(self, examples: Sequence[Question]) -> list[Measure]:
        answered = self.references(examples)
        found = self._answer([(example.question, example.passage) for example in answered], 32)
        scores = [
            score_answer([answer.text for answer in example.answers], guess.text)
            for example, guess in zip(answered, found, strict=True)
        ]
        exact, f1 = zip(*scores, strict=True)
        return [Measure("exact match", mean_of(exact)), Measure("F1", mean_of(f1))]


class Answering(SentenceTask):
    """The answering task with its vocabulary."""

    unit = "questions"
    judged = "questions"
    recipe = "answerer"
    trained_class = TrainedAnswerer

    @classmethod
    def read(cls, document: Document, config: RunConfig) -> list[Question]:
        return read_questions(document)

    @classmethod
    def splitter(cls, config: RunConfig) -> Splitter:
        """Questions on one passage stay together, so the test part has only new passages."""
        return Splitter(config.text.split, group=lambda question: question.passage.text)

    @classmethod
    def sample(cls, example: Question) -> dict[str, str]:
        return {"question": example.question.text, "passage": example.passage.text}

    @classmethod
    def learn(cls, examples: Sequence[Question], config: RunConfig) -> Self:
        passages = dict.fromkeys(example.passage for example in examples)  # each is read once
        texts = [*passages, *(example.question for example in examples)]
        return cls(config, learn_words([text.words for text in texts], config))

    def batches(self, examples: Sequence[Question], batch_size: int, seed: int | None) -> Examples:
        answered = [example for example in examples if example.answers]
        if not answered:
            raise InputError(
                f"none of {len(examples):,} questions for training or validation has an answer; "
                "give questions with answers"
            )
        pairs = [(example.question, example.passage) for example in answered]
        targets = [np.array([example.span()]) for example in answered]
        return Examples(self.index_pairs(pairs), targets, batch_size=batch_size, seed=seed)

    def index_pairs(
        self, pairs: Sequence[tuple[PlacedWords, PlacedWords]]
    ) -> list[IndexedSentences]:
        """Questions and passages ready for batching."""
        questions = [question.words for question, _ in pairs]
        passages = [passage.words for _, passage in pairs]
        matches = IndexedMatches(self.index(passages), passages, questions)
        return [self.index(questions), matches]

    def splitting(self) -> dict[str, Any]:
        return {"splits": "raw", "cuts": None}

    def build(self, examples: Any = None) -> Answerer:
        return Answerer(self.config.model, self.counts(), self.language_model())

    def facts(self, examples: Sequence[Question]) -> dict[str, Any]:
        longest = self.config.model.longest
        spans = [example.span() for example in examples if example.answers]
        return {
            "passages": len({example.passage for example in examples}),
            "left_out": len(examples) - len(spans),
            "answers_too_long": sum(last - first >= longest for first, last in spans),
        }

    def to_data(self) -> dict[str, Any]:
        return {"words": self.words.to_data()}

    @classmethod
    def from_data(cls, data: dict[str, Any], config: RunConfig) -> Self:
        return cls(config, WordList.from_data(data["words"]))


@dataclass(frozen=True)
class FoundAnswer:
    """A part of a passage: `passage[start:end]` is its text."""

    text: str
    start: int
    end: int
    probability: float  # of its first word times that of its last

    def to_data(self) -> dict[str, Any]:
        """Plain data; `start` and `end` count characters (code points) of the passage."""
        return {
            "answer": self.text,
            "start": self.start,
            "end": self.end,
            "probability": self.probability,
        }


def _found(passage: PlacedWords, first: int, last: int, log_prob: float) -> FoundAnswer:
    places = passage.places()
    start, end = places[first][0], places[last][1]
    return FoundAnswer(passage.text[start:end], start, end, math.exp(log_prob))


# Measures -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AnswerMeasures(TaskMeasures):
    """Measures of predicted answers."""

    exact_match: float
    f1: float
    questions: int
    left_out: int = 0  # questions without a right answer

    def rows(self) -> list[tuple[str, Any]]:
        return [
            ("exact match", self.exact_match),
            ("F1", self.f1),
            ("questions", self.questions),
            *([("left out (no answer)", self.left_out)] if self.left_out else []),
        ]

    def to_data(self) -> dict[str, Any]:
        return dict(vars(self))


def measure_answers(
    right: Sequence[Sequence[str]], guessed: Sequence[str], *, left_out: int = 0
) -> AnswerMeasures:
    """Measure one predicted answer per question; `right`: all its correct answers."""
    scores = [score_answer(*both) for both in zip(right, guessed, strict=True)]
    count = max(len(right), 1)
    exact, f1 = (sum(one[place] for one in scores) / count for place in (0, 1))
    return AnswerMeasures(exact, f1, len(right), left_out)


def score_answer(answers: Sequence[str], guess: str) -> tuple[float, float]:
    """Exact match and F1 of a predicted answer; the best match of several correct ones counts."""
    exact = max(normalise(answer) == normalise(guess) for answer in answers)
    return float(exact), max(word_f1(answer, guess) for answer in answers)


def normalise(answer: str) -> str:
    """The words of an answer that count."""
    without = answer.lower().translate(_WITHOUT_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", without).split())


def word_f1(right: str, guess: str) -> float:
    """F1 of the words of a predicted answer; if either has no words, 1 only if both have none."""
    words, guessed = normalise(right).split(), normalise(guess).split()
    if not words or not guessed:
        return float(words == guessed)
    hits = (Counter(words) & Counter(guessed)).total()
    return make_score(hits, len(words), len(guessed)).f1
