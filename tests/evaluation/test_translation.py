"""Measures of translations: by hand, by length, and with the signature of sacrebleu."""

import math

import numpy as np
import pytest

from elman.errors import InputError
from elman.tasks.translation.measures import (
    NAMES,
    Judging,
    bands_of,
    measure_translation,
    resampled_translation,
)

RIGHT = ["the cat sat on the mat .", "a b c", "Yes it is"]
GUESS = ["the cat sat on a mat .", "a b c", ""]
LENGTHS = [7, 3, 9]
NONE = Judging("none")


def test_bleu_by_hand() -> None:
    whole = measure_translation(RIGHT[:1], GUESS[:1], [7], judging=NONE).whole
    # both have 7 words, so there is no penalty for brevity
    # words right: the cat sat on mat . = 6; pairs: the-cat cat-sat sat-on mat-. = 4;
    # threes: the-cat-sat cat-sat-on = 2; fours: the-cat-sat-on = 1
    shares = [6 / 7, 4 / 6, 2 / 5, 1 / 4]
    assert whole.bleu == pytest.approx(100 * math.prod(shares) ** 0.25)
    assert whole.exact == 0.0
    assert whole.rouge_1 == pytest.approx(2 * 5 / 12)  # the mark does not count


def test_what_is_right_is_perfect() -> None:
    whole = measure_translation(RIGHT, RIGHT, LENGTHS).whole
    assert whole.bleu == pytest.approx(100)
    assert (whole.chrf, whole.exact, whole.rouge_l, whole.lines) == (100, 1, 1, 3)


def test_exact_match_and_case() -> None:
    pairs = ["A b", "c d"], ["a  b", "c d"]
    assert measure_translation(*pairs, [2, 2]).whole.exact == 0.5
    lower = measure_translation(*pairs, [2, 2], judging=Judging(lowercase=True))
    assert lower.whole.exact == 1.0
    assert "case:lc" in lower.signatures["bleu"]


def test_signatures_and_rows() -> None:
    measures = measure_translation(RIGHT, GUESS, LENGTHS, judging=Judging("none", measure="exact"))
    assert "tok:none" in measures.signatures["bleu"]
    assert "nrefs:1" in measures.signatures["bleu"]
    assert "nc:6" in measures.signatures["chrf"]
    assert measures.main() == ("exact match", pytest.approx(1 / 3))
    assert [name for name, _ in measures.rows()][1:3] == ["BLEU", "chrF"]
    assert any("tok:none" in line for line in measures.footnotes())
    assert "tok:13a" in measure_translation(RIGHT, GUESS, LENGTHS).signatures["bleu"]


def test_by_thirds_of_length() -> None:
    measures = measure_translation(RIGHT, GUESS, LENGTHS, judging=NONE)
    assert [(band.shortest, band.longest) for band in measures.bands] == [(3, 3), (7, 7), (9, 9)]
    assert [band.scores.exact for band in measures.bands] == [1, 0, 0]
    (table,) = measures.tables()
    assert table.header[:3] == ["source length", "lines", "BLEU"]
    assert [row[0] for row in table.rows] == ["3–3", "7–7", "9–9"]
    data = measures.to_data()
    assert [band["exact"] for band in data["by_length"]] == [1, 0, 0]
    assert data["bleu"] == measures.whole.bleu


@pytest.mark.parametrize(
    ("lengths", "bounds", "expected"),
    [
        ([1, 2, 3, 4, 5, 6], None, [(1, 2, [0, 1]), (3, 4, [2, 3]), (5, 6, [4, 5])]),
        ([5, 5, 5, 5], None, [(5, 5, [0, 1, 2, 3])]),
        ([2, 9, 2, 2, 2, 9], None, [(2, 2, [0, 2, 3, 4]), (9, 9, [1, 5])]),
        ([3, 1], None, [(1, 3, [0, 1])]),
        ([4, 12, 25], [10, 20, 30], [(4, 4, [0]), (12, 12, [1]), (25, 25, [2])]),
        ([4, 12, 40], [20, 10], [(4, 4, [0]), (12, 12, [1]), (40, 40, [2])]),
        ([0, 4], [0], [(0, 0, [0]), (4, 4, [1])]),
    ],
)
def test_bands(lengths: list[int], bounds: list[int] | None, expected: list) -> None:
    assert bands_of(lengths, bounds) == expected


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="no lines to evaluate"):
        measure_translation([], [], [])
    with pytest.raises(InputError, match="unknown tokenization of BLEU 'flores'"):
        Judging("flores")
    with pytest.raises(InputError, match="unknown measure 'blue'; did you mean 'bleu'"):
        Judging(measure="blue")


@pytest.mark.parametrize("judging", [NONE, Judging("13a", lowercase=True, measure="chrf")])
def test_drawn_lines_score_as_sacrebleu_scores_them(judging: Judging) -> None:
    right, guessed = [*RIGHT, "a cat .", "the mat"], [*GUESS, "a Cat .", "on the mat"]
    measures = resampled_translation(right, guessed, judging)
    assert measures[0].name == NAMES[judging.measure]
    rows = [[0, 1, 2, 3, 4], [0, 0, 3, 4, 4], [1, 1, 1, 1, 1], [2, 2, 2, 2, 2]]
    weights = np.stack([np.bincount(row, minlength=5) for row in rows]).astype(float)
    for measure in measures:
        expected = [
            dict(
                measure_translation(
                    [right[n] for n in row], [guessed[n] for n in row], [1] * 5, judging=judging
                ).rows()
            )[measure.name]
            for row in rows
        ]
        assert measure.values(weights).tolist() == pytest.approx(expected)
