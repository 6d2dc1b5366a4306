"""The corpora arithmetic, tickets and xml: right answers, settings, disjoint splits."""

import random
import re
from collections import Counter
from random import Random
from typing import Any

import pytest

from elman.errors import InputError
from elman.text.corpora import open_corpus
from elman.text.recall import LETTERS, TICKET_SENTENCE, Arithmetic, Tickets, Xml

PROBLEM = re.compile(r"(\d+)([+-])(\d+)=(-?\d+)")


def parts(line: str) -> tuple[int, str, int, int]:
    """The problem without its letters, which occur only before `=`."""
    problem, result = line.split("=")
    match = PROBLEM.fullmatch(re.sub(f"[{LETTERS}]", "", problem) + "=" + result)
    assert match is not None, line
    return int(match[1]), match[2], int(match[3]), int(match[4])


def test_every_result_is_right() -> None:
    for line in Arithmetic(lines=2000).text("train").splitlines():
        first, sign, second, result = parts(line)
        assert result == (first + second if sign == "+" else first - second)


def test_the_example_of_the_study_is_such_a_line() -> None:
    assert parts("3e36d9-h1h39f94eeh43keg3c=-13991064") == (3369, "-", 13994433, -13991064)


def test_numbers_of_all_lengths_are_as_frequent() -> None:
    lines = Arithmetic(lines=4000, digits=4).text("train").splitlines()
    found = [parts(line) for line in lines]
    lengths = Counter(len(str(number)) for one in found for number in (one[0], one[2]))
    # 8000 numbers, 2000 of each length; standard deviation sqrt(8000 * 1/4 * 3/4) = 39.
    assert sorted(lengths) == [1, 2, 3, 4]
    assert all(abs(count - 2000) < 4 * 39 for count in lengths.values())
    assert {one[1] for one in found} == {"+", "-"}
    assert any(one[3] < 0 for one in found)


@pytest.mark.parametrize("most", [0, 1, 3])
def test_letters_stand_after_every_character_of_a_problem(most: int) -> None:
    text = Arithmetic(lines=500, distractors=most).text("train")
    gaps = Counter(
        len(letters)
        for line in text.splitlines()
        for letters in re.findall(r"[\d+-](\D*?)(?=[\d+=-])", line.split("=")[0] + "=")
    )
    assert sorted(gaps) == list(range(most + 1))


def test_no_problem_is_in_two_splits_whatever_its_letters() -> None:
    corpus = Arithmetic(lines=3000, digits=2, distractors=1)
    train, valid, test = (
        {parts(line)[:3] for line in corpus.text(split).splitlines()}
        for split in ("train", "valid", "test")
    )
    assert len(train) > 1000
    assert not train & valid
    assert not train & test
    assert not valid & test


def test_settings_are_written_after_the_name() -> None:
    corpus = open_corpus("arithmetic:digits=1,distractors=0,lines=100,seed=3")
    same = Arithmetic(digits=1, distractors=0, lines=100, seed=3)
    assert corpus.split("train").text == same.text("train")
    assert corpus.name == "arithmetic:digits=1,distractors=0,lines=100,seed=3"
    assert "up to 1 digits," in corpus.notes[0]


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("arithmetic:digts=2", "unknown setting arithmetic.digts; did you mean 'digits'"),
        ("arithmetic:digits=0", "digits=0: must be at least 1"),
        ("arithmetic:distractors=-1", "distractors=-1: must be at least 0"),
        ("arithmetic:digits=two", "arithmetic.digits='two': expected a whole number"),
        ("arithmetic:digits", "write settings as arithmetic:key=value,key=value"),
        ("grammar:depth=2", "grammar has no settings"),
        ("arithmetik:digits=2", "no such file, folder or built-in corpus"),
    ],
)
def test_wrong_settings_get_one_clear_line(written: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        open_corpus(written)


def test_the_last_word_is_the_one_that_was_to_be_printed() -> None:
    for line in Tickets(lines=40).text("train").splitlines():
        words = line.replace(",", "").replace(".", "").split()
        assert words[-1] == words[6]
        assert words.count(words[-1]) == 2


def test_the_word_is_to_be_remembered_for_several_distances() -> None:
    lines = Tickets(lines=400).text("train").splitlines()
    tokens = [line.replace(",", " ,").replace(".", " .").split()[:-1] for line in lines]
    distances = Counter(len(line) - 1 - line.index(line[-1]) for line in tokens)
    assert sorted(distances) == [6, 13, 21, 28, 40]
    assert min(distances.values()) > 40


def test_the_sentence_of_the_lectures_is_one_of_them() -> None:
    class Lecturer(Random):
        """Chooses what the sentence has, and the longest story."""

        def choice(self, options: Any) -> Any:
            words = TICKET_SENTENCE.replace(".", "").replace(",", "").split()
            return next((one for one in options if one in words), max(options, key=len))

    assert Tickets(lines=20).draw(Lecturer()).text == TICKET_SENTENCE


def test_no_line_is_in_two_splits() -> None:
    corpus = open_corpus("tickets:lines=500")
    lines = {name: {*corpus.split(name).text.splitlines()} for name in ("train", "valid", "test")}
    assert not lines["train"] & (lines["valid"] | lines["test"])
    assert not lines["valid"] & lines["test"]
    assert len(lines["train"]) > 300


def test_the_same_seed_gives_the_same_text() -> None:
    assert Tickets(lines=40).text("train") == Tickets(lines=40).text("train")
    assert Tickets(lines=40).text("train") != Tickets(lines=40, seed=1).text("train")


def depths(document: str) -> list[int]:
    """How many tags are open after each tag; the document is checked on the way."""
    tags = re.findall(r"<(/?)([a-z]+)>", document)
    assert "".join(f"<{slash}{name}>" for slash, name in tags) == document
    stack: list[str] = []
    found = []
    for slash, name in tags:
        if slash:
            assert stack.pop() == name
        else:
            stack.append(name)
        found.append(len(stack))
    assert not stack
    return found


def test_documents_are_well_formed() -> None:
    lines = Xml(lines=1000).text("train").splitlines()
    deepest = max(max(depths(line)) for line in lines)
    assert deepest >= 6
    names = [name for line in lines for name in re.findall(r"<([a-z]+)>", line)]
    assert sorted(Counter(map(len, names))) == list(range(2, 11))


def test_half_of_the_documents_close_their_first_tag_at_once() -> None:
    lines = Xml(lines=4000).text("train").splitlines()
    short = sum(depths(line)[1] == 0 for line in lines) / len(lines)
    # Standard deviation sqrt(1/4 / 4000) = 0.0079.
    assert abs(short - 0.5) < 4 * 0.0079


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_after_so_many_steps_tags_are_only_closed(steps: int) -> None:
    class Opens(random.Random):
        """Always opens a tag."""

        def random(self) -> float:
            return 0.99

    document = Xml(steps=steps).draw(Opens(0)).text
    assert depths(document) == [*range(1, steps + 1), *range(steps - 1, -1, -1)]


def test_no_document_is_in_two_splits() -> None:
    corpus = Xml(lines=4000, longest_name=2, steps=2)  # few different ones
    train, valid, test = ({*corpus.text(s).splitlines()} for s in ("train", "valid", "test"))
    assert not train & valid
    assert not train & test
    assert not valid & test


@pytest.mark.parametrize("wrong", [{"longest_name": 1}, {"steps": 0}])
def test_impossible_settings_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match="must be at least"):
        Xml(**wrong)
