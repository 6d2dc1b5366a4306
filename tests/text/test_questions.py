"""Questions in SQuAD format: answers as words, notes and refusals."""

import json
from typing import Any

import pytest
from facts import squad

from elman.errors import InputError
from elman.tasks.answering.reader import PlacedWords, Question, cover, read_questions
from elman.text.reader import Document
from elman.text.splitting import find_words

PASSAGE = "In 1998  Ann O'Neill's “cat” moved\nto New York's 5th-best flat."


def document(qas: Any, context: Any = PASSAGE) -> Document:
    tree = {"data": [{"title": "t", "paragraphs": [{"context": context, "qas": qas}]}]}
    return Document("q.json", json.dumps(tree))


def question(*answers: tuple[str, int], **further: Any) -> dict[str, Any]:
    given = [{"text": text, "answer_start": start} for text, start in answers]
    return {"id": "one", "question": "Where?", "answers": given, **further}


def found(example: Question) -> list[str]:
    """Every answer, put together again from the places of its words."""
    places = example.passage.places()
    text = example.passage.text
    return [text[places[a.first][0] : places[a.last][1]] for a in example.answers]


def test_words_are_parts_of_the_text() -> None:
    words = PlacedWords.of(PASSAGE)
    expected = "In|1998|Ann|O'Neill's|“|cat|”|moved|to|New|York's|5|th|-|best|flat|."
    assert "|".join(words.words) == expected
    assert [PASSAGE[start:end] for start, end in words.places()] == list(words.words)
    assert find_words(" \n\t ") == []
    assert find_words("  a\t b ") == [(2, 3), (5, 6)]


def test_answers_come_back_as_parts_of_the_passage() -> None:
    text = document([question(("1998", 3), ("“cat”", PASSAGE.index("“"))), question(("flat.", 58))])
    first, second = read_questions(text)
    assert [answer.text for answer in first.answers] == ["1998", "“cat”"] == found(first)
    assert found(second) == ["flat."]
    assert (first.name, first.question.words) == ("one", ("Where", "?"))
    assert text.notes == []


def test_the_answers_of_facts_are_all_found() -> None:
    text = Document("facts", json.dumps(squad(20, seed=3)))
    examples = read_questions(text)
    assert len(examples) == 120
    assert all(found(example) == [example.answers[0].text] for example in examples)
    assert text.notes == []


@pytest.mark.parametrize(
    ("answer", "whole"),
    [("York", "York's"), ("nn O'Nei", "Ann O'Neill's"), ("99", "1998"), (" cat", "cat")],
)
def test_answers_inside_of_words_are_taken_with_the_word(answer: str, whole: str) -> None:
    passage = PASSAGE.replace("“cat”", "the cat")
    text = document([question((answer, passage.index(answer)))], passage)
    (example,) = read_questions(text)
    assert found(example) == [whole]
    assert bool(text.notes) == (answer != " cat")  # a space is no part of a word
    if text.notes:
        assert text.notes == [
            "q.json: 1 answers begin or end inside a word; they are extended to the whole word"
        ]


def test_the_fewest_words_that_hold_a_part() -> None:
    places = [(0, 2), (3, 5), (5, 6), (8, 9)]
    for start in range(9):
        for end in range(start + 1, 10):
            touched = {
                n for n, (a, b) in enumerate(places) if {*range(a, b)} & {*range(start, end)}
            }
            expected = (min(touched), max(touched)) if touched else None
            assert cover(places, start, end) == expected


def test_an_answer_that_stands_elsewhere_is_taken_from_the_nearest_place() -> None:
    asked = [question(("ab", start)) for start in (7, 9, -1, -7, 99)]
    text = document(asked, "ab x ab y ab")
    spans = [example.span() for example in read_questions(text)]
    assert spans == [(2, 2), (4, 4), (0, 0), (0, 0), (4, 4)]
    assert text.notes == [
        "q.json: 5 answers are not at their answer_start; the nearest occurrence is used"
    ]


def test_questions_without_an_answer_are_read_and_counted() -> None:
    impossible = question(("In", 0), is_impossible=True)
    text = document([impossible, question(("cat", PASSAGE.index("cat"))), question((" ", 2))])
    examples = read_questions(text)
    assert [len(example.answers) for example in examples] == [0, 1, 0]
    assert text.notes == [
        "q.json: 2 of 3 questions have no answer in their passage; they are left out",
        "q.json: 1 answers contain no word; they are left out",
    ]
    read_questions(text)
    assert len(text.notes) == 2  # said once


def test_of_several_answers_the_one_that_most_gave_is_learned() -> None:
    york = PASSAGE.index("New")
    (example,) = read_questions(document([question(("In", 0), ("New", york), ("New", york))]))
    assert example.span() == (9, 9)


def test_questions_to_be_answered_need_no_answers() -> None:
    text = document([{"question": "Who?"}, {"id": 7, "question": "What?", "answers": "?"}])
    assert [q.name for q in read_questions(text, with_answers=False)] == ["0", "7"]
    assert text.notes == []


GOOD = question(("cat", PASSAGE.index("cat")))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{", "^q.json: is not JSON"),
        ("[1]", "^q.json: has no data at the top; write"),
        ('{"paragraphs": []}', "^q.json: has no data at the top"),
        ('{"data": {}}', "^q.json: 'data' must be a list"),
        ('{"data": [3]}', '^q.json, data 1: must be an object like {"paragraphs": …}'),
        ('{"data": [{"title": "x"}]}', "^q.json, data 1: has no 'paragraphs'"),
        ('{"data": [{"paragraphs": [{"qas": []}]}]}', "data 1, paragraph 1: has no 'context'"),
        ('{"data": [{"paragraphs": [{"context": "a"}]}]}', "data 1, paragraph 1: has no 'qas'"),
        ('{"data": []}', "^q.json: has no questions"),
        (document([GOOD, {**GOOD, "question": " \n"}]).text, "question 2: the question is empty"),
        (document([GOOD], " ").text, "paragraph 1: the passage is empty"),
        (document([GOOD], 5).text, "'context' must be a text"),
        (document([{"id": "x", "answers": []}]).text, "question 1: has no 'question'"),
        (document([{"question": "Who?"}]).text, "question 1: has no 'answers'"),
        (document([{**GOOD, "answers": [{"text": "cat"}]}]).text, "has no 'answer_start'"),
        (document([question(("cat", True))]).text, "'answer_start' must be a whole number"),
        (document([question(("dog", 4))]).text, "the answer 'dog' is not in the passage"),
        (document([question()]).text, "^q.json: no question has an answer"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_in_one_line(text: str, line: str) -> None:
    with pytest.raises(InputError, match=line) as caught:
        read_questions(Document("q.json", text))
    assert "\n" not in str(caught.value)
