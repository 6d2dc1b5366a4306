"""The questions of an answering model."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from elman.errors import InputError
from elman.evaluation.measures import Progress
from elman.tasks.answering.reader import read_questions
from elman.tasks.answering.task import FoundAnswer, TrainedAnswerer
from elman.tasks.embed import EMBED
from elman.tasks.question import STDIN, Question, asked, asked_batch_size, make_request
from elman.tasks.question import Answer as Answered
from elman.text.reader import Document

_COLUMNS = ("id", "answer", "start", "end", "probability")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Find the part of a passage that answers a question.

    A file contains questions with their passages, in the JSON format of SQuAD.

    For example:
      elman answer runs/squad --question "Who wrote it?" --passage "It was written by Ada."
      cat chapter.txt | elman answer runs/squad --question "Where was she born?" --passage -
      elman answer runs/squad dev-v1.1.json > answers.tsv
    """

    question: str | list[str] = asked("One or several questions.", limit="texts")
    passage: str | list[str] = asked(
        "The passage that contains the answer; one for all questions, or one for each.",
        kind=STDIN,
        limit="texts",
    )
    id: list[str] = asked(
        "The names of the questions. Default: 1, 2, …", factory=list, terminal=True
    )
    batch_size: int = asked_batch_size("questions")

    @classmethod
    def from_document(
        cls, trained: TrainedAnswerer, document: Document, given: dict[str, Any]
    ) -> Self:
        """The questions of a file in the JSON format of SQuAD, with or without answers."""
        read = read_questions(document, with_answers=False)
        found = {
            "question": [one.question.text for one in read],
            "passage": [one.passage.text for one in read],
            "id": [one.name for one in read],
        }
        request: Self = make_request(cls, given | found)
        return request


@dataclass(frozen=True)
class Answers(Answered):
    """The answer to every question."""

    ids: list[str]
    questions: list[str]
    found: list[FoundAnswer]
    alone: bool  # one question, not a list of them

    def to_data(self) -> dict[str, Any]:
        rows = zip(self.ids, self.questions, self.found, strict=True)
        return {
            "answers": [{"id": name, "question": text, **one.to_data()} for name, text, one in rows]
        }

    def lines(self) -> Iterable[str]:
        """The answer alone for one question; tab-separated columns for several."""
        if self.alone:
            yield _cell(self.found[0].text)
            return
        yield "\t".join(_COLUMNS)
        for row in self.to_data()["answers"]:
            yield "\t".join(_cell(row[name]) for name in _COLUMNS)


def _cell(value: Any) -> str:
    """Format a value; tabs and line ends become spaces."""
    return f"{value:.4f}" if isinstance(value, float) else " ".join(str(value).split())


def answer(trained: TrainedAnswerer, request: Answer, progress: Progress) -> Answers:
    """Find the part of the passage that answers each question."""
    alone = isinstance(request.question, str)
    questions = _as_list(request.question)
    passages = _as_list(request.passage)
    passages = passages * len(questions) if len(passages) == 1 else passages
    ids = request.id or [str(number) for number in range(1, len(questions) + 1)]
    for what, given in (("passages", passages), ("ids", ids)):
        if len(given) != len(questions):
            raise InputError(
                f"there are {len(questions)} questions but {len(given)} {what}; give one for each"
            )
    pairs = zip(questions, passages, strict=True)
    found = trained.answer_all(pairs, batch_size=request.batch_size, progress=progress)
    return Answers(ids, questions, found, alone)


def _as_list(given: str | list[str]) -> list[str]:
    return [given] if isinstance(given, str) else given


QUESTIONS = {"answer": Question(Answer, answer, unit="questions"), "embed": EMBED}
