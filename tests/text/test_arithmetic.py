"""Problems among distractors: the results are right, and all settings show."""

import re
from collections import Counter

import pytest

from elman.errors import InputError
from elman.text.arithmetic import LETTERS, Arithmetic
from elman.text.corpora import open_corpus

PROBLEM = re.compile(r"(\d+)([+-])(\d+)=(-?\d+)")


def parts(line: str) -> tuple[int, str, int, int]:
    """The problem without its letters, which stand only before `=`."""
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
    assert "digits up to 1," in corpus.notes[0]


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
