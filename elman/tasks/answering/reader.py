"""Questions on passages whose answers are parts of the passage, in the JSON format of SQuAD.

    {"data": [{"paragraphs": [{"context": "Mary went to the garden.", "qas": [
        {"id": "1", "question": "Where is Mary?",
         "answers": [{"text": "the garden", "answer_start": 13}]}]}]}]}

Takes a document, returns `Question`s; called by the answering task. PlacedWords are the words of
the tokenizer raw-words with their places in the passage, so an answer is always an exact part of
the passage. An answer that begins or ends inside a word is extended to the whole word. Questions
without an answer (`is_impossible`, SQuAD 2.0) are read too; the task leaves them out. Every problem
in a file is either refused or counted in the notes of the document.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from elman.errors import InputError
from elman.text.reader import Document
from elman.text.splitting import find_words

_FORM = '{"data": [{"paragraphs": [{"context": "…", "qas": [{"question": "…", …}]}]}]}'
_EXPECTED = {list: "a list", dict: "an object", str: "a text", int: "a whole number"}
_NOTES = {
    "impossible": "{} of {} questions have no answer in their passage; they are left out",
    "blank": "{} answers contain no word; they are left out",
    "moved": "{} answers are not at their answer_start; the nearest occurrence is used",
    "widened": "{} answers begin or end inside a word; they are extended to the whole word",
}


@dataclass(frozen=True)
class PlacedWords:
    """A text with its words and punctuation marks."""

    text: str
    words: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> PlacedWords:
        return cls(text, tuple(text[start:end] for start, end in find_words(text)))

    def places(self) -> list[tuple[int, int]]:
        """The start and end of each word in the text, in characters; the end is exclusive."""
        return find_words(self.text)


@dataclass(frozen=True)
class Answer:
    """The text of an answer, and its first and last word in the passage."""

    text: str
    first: int
    last: int


@dataclass(frozen=True)
class Question:
    """A question on a passage; without answers if it has none or they are unknown."""

    name: str  # its id in the file
    question: PlacedWords
    passage: PlacedWords
    answers: tuple[Answer, ...] = ()

    def span(self) -> tuple[int, int]:
        """First and last word of the answer; the most frequent one if there are several."""
        given = Counter((answer.first, answer.last) for answer in self.answers)
        return given.most_common(1)[0][0]


def read_questions(document: Document, *, with_answers: bool = True) -> list[Question]:
    """All questions of a document; answers are optional unless `with_answers`."""
    found: Counter[str] = Counter()
    questions: list[Question] = []
    for passage, places, entry, where in _entries(document):
        text = _get(entry, "question", str, where)
        question = PlacedWords.of(text)
        if not question.words:
            raise InputError(f"{where}: the question is empty; ask something or leave it out")
        answers = _answers(entry, passage, places, where, found) if with_answers else ()
        found["impossible"] += not answers
        questions.append(Question(str(entry.get("id", len(questions))), question, passage, answers))
    if not questions:
        raise InputError(f"{document.name}: has no questions; write {_FORM}")
    if with_answers:
        if found["impossible"] == len(questions):
            raise InputError(f"{document.name}: no question has an answer; give at least one")
        _note(document, found, len(questions))
    return questions


def _note(document: Document, found: Counter[str], questions: int) -> None:
    for name, words in _NOTES.items():
        note = f"{document.name}: " + words.format(f"{found[name]:,}", f"{questions:,}")
        if found[name] and note not in document.notes:
            document.notes.append(note)


# The tree of the file -----------------------------------------------------------------------------


def _entries(
    document: Document,
) -> Iterator[tuple[PlacedWords, list[tuple[int, int]], dict[str, Any], str]]:
    """Every question with its passage, the places of its words, and its path in the file."""
    try:
        tree: Any = json.loads(document.text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"{document.name}: is not JSON ({error}); write {_FORM}") from None
    if not isinstance(tree, dict) or "data" not in tree:
        raise InputError(f"{document.name}: has no data at the top; write {_FORM}")
    for number, article in enumerate(_get(tree, "data", list, document.name), 1):
        where = f"{document.name}, data {number}"
        for place, paragraph in enumerate(_get(article, "paragraphs", list, where), 1):
            below = f"{where}, paragraph {place}"
            passage = PlacedWords.of(_get(paragraph, "context", str, below))
            if not passage.words:
                raise InputError(f"{below}: the passage is empty; give some text or leave it out")
            places = passage.places()
            for row, entry in enumerate(_get(paragraph, "qas", list, below), 1):
                yield passage, places, entry, f"{below}, question {row}"


def _get(entry: Any, key: str, kind: type, where: str) -> Any:
    """The value of a required key, checked for its type."""
    if not isinstance(entry, dict):
        raise InputError(f"{where}: must be an object like {{{json.dumps(key)}: …}}")
    if key not in entry:
        raise InputError(f"{where}: has no {key!r}; write {_FORM}")
    value = entry[key]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InputError(f"{where}: {key!r} must be {_EXPECTED[kind]}")
    return value


# Answers ------------------------------------------------------------------------------------------


def _answers(
    entry: dict[str, Any],
    passage: PlacedWords,
    places: list[tuple[int, int]],
    where: str,
    found: Counter[str],
) -> tuple[Answer, ...]:
    if entry.get("is_impossible"):
        return ()
    answers = []
    for given in _get(entry, "answers", list, where):
        text: str = _get(given, "text", str, where)
        start = _find(passage.text, text, _get(given, "answer_start", int, where), where)
        span = cover(places, start, start + len(text))
        if not text.strip() or span is None:
            found["blank"] += 1
            continue
        first, last = span
        begin = start + len(text) - len(text.lstrip())
        found["moved"] += start != given["answer_start"]
        found["widened"] += (places[first][0], places[last][1]) != (
            begin,
            begin + len(text.strip()),
        )
        answers.append(Answer(text, first, last))
    return tuple(answers)


def _find(passage: str, text: str, start: int, where: str) -> int:
    """The place of an answer in its passage: its answer_start, or the nearest occurrence."""
    if start >= 0 and passage.startswith(text, start):
        return start
    begin = max(start, 0)
    before, after = passage.rfind(text, 0, begin + len(text)), passage.find(text, begin)
    there = [place for place in (before, after) if place >= 0]
    if not there:
        raise InputError(f"{where}: the answer {text!r} is not in the passage; copy it from there")
    return min(there, key=lambda place: abs(place - start))


def cover(places: Sequence[tuple[int, int]], start: int, end: int) -> tuple[int, int] | None:
    """First and last of the words that cover the characters from `start` to before `end`."""
    touched = [
        number for number, (begin, stop) in enumerate(places) if begin < end and stop > start
    ]
    return (touched[0], touched[-1]) if touched else None
