"""ROUGE by hand, and the longest common subsequence against dynamic programming."""

import random

import pytest

from elman.tasks.translation.measures import common_subsequence, rouge_l, rouge_n, rouge_words

RIGHT = "the cat sat on the mat".split()
GUESS = "the cat lay on a mat".split()


def test_words_are_lower_case_letters_and_digits() -> None:
    assert rouge_words("The cat's 2 MATS, über-all.") == [
        "the",
        "cat",
        "s",
        "2",
        "mats",
        "über",
        "all",
    ]


def test_by_hand() -> None:
    # shared words: the, cat, on, mat = 4 of 6 and 6; pairs: "the cat" = 1 of 5 and 5
    assert rouge_n(RIGHT, GUESS, 1) == pytest.approx(4 / 6)
    assert rouge_n(RIGHT, GUESS, 2) == pytest.approx(1 / 5)
    # in order: the cat on mat
    assert rouge_l(RIGHT, GUESS) == pytest.approx(4 / 6)
    # precision 2/2, recall 2/6: F1 = 2 · 2 / (6 + 2)
    assert rouge_n(RIGHT, ["the", "the"], 1) == pytest.approx(0.5)
    assert rouge_l(RIGHT, ["mat", "the"]) == pytest.approx(2 * 1 / 8)


def test_nothing() -> None:
    assert rouge_n([], [], 1) == rouge_l([], []) == 1.0
    assert rouge_n(["a"], [], 1) == rouge_l(["a"], []) == rouge_l([], ["a"]) == 0.0
    assert rouge_n(["a"], ["a"], 2) == 1.0  # no pairs in either, and they are the same
    assert rouge_n(["a"], ["b"], 2) == 0.0


def table(first: list[str], second: list[str]) -> int:
    rows = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, one in enumerate(first):
        for j, other in enumerate(second):
            best = max(rows[i][j + 1], rows[i + 1][j])
            rows[i + 1][j + 1] = rows[i][j] + 1 if one == other else best
    return rows[-1][-1]


def test_the_longest_common_subsequence() -> None:
    chance = random.Random(1)
    for _ in range(200):
        first, second = (chance.choices("abcd", k=chance.randrange(90)) for _ in range(2))
        assert common_subsequence(first, second) == table(first, second)
