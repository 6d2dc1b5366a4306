"""Exact match and F1 of answers, by hand."""

import pytest

from elman.tasks.answering.task import measure_answers, normalise, word_f1


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("The Denver Broncos.", "denver broncos"),
        ("  an  apple, a pear ", "apple pear"),
        ("Theatre another", "theatre another"),  # articles are whole words
        ("U.S.-born (1990's)", "usborn 1990s"),  # marks go, nothing comes in their place
        ("the", ""),
        ("“École”", "“école”"),  # as in SQuAD, only marks of ASCII are left out
    ],
)
def test_what_counts(answer: str, expected: str) -> None:
    assert normalise(answer) == expected


@pytest.mark.parametrize(
    ("right", "guess", "f1"),
    [
        ("the old garden", "old garden", 1.0),  # articles do not count
        ("old garden", "garden", 2 / 3),  # precision 1, recall 1/2
        ("old garden", "the garden of John", 0.4),  # precision 1/3, recall 1/2
        ("a b b c", "b b b", 2 / 3),  # of "b b c" and "b b b" two are shared: 2 * 2 / (3 + 3)
        ("cat", "dog", 0.0),
        ("The", "a", 1.0),  # nothing is left of either
        ("the", "cat", 0.0),
    ],
)
def test_f1_of_words(right: str, guess: str, f1: float) -> None:
    assert word_f1(right, guess) == pytest.approx(f1)
    assert word_f1(guess, right) == pytest.approx(f1)


def test_all_questions_together() -> None:
    right = [["garden", "the old garden"], ["John"], ["red ball"]]
    found = measure_answers(right, ["Old garden!", "Mary", "ball"], left_out=2)
    assert found.exact_match == pytest.approx(1 / 3)
    assert found.f1 == pytest.approx((1 + 0 + 2 / 3) / 3)
    assert (found.questions, found.left_out) == (3, 2)
    assert found.to_data()["left_out"] == 2
    names = ["exact match", "F1", "questions"]
    assert [name for name, _ in found.rows()] == [*names, "left out (no answer)"]
    assert [name for name, _ in measure_answers(right, ["", "", ""]).rows()] == names
