"""Intervals and the exact test: values that can be checked by hand."""

import numpy as np
import pytest

from elman.evaluation.pair_accuracy import Score, mean_interval
from elman.evaluation.proportions import compare_right, sign_test, wilson_interval


def test_wilson() -> None:
    # 8 of 10: centre (0.8 + z²/20) / (1 + z²/10), z² = 3.8415: (0.99207 / 1.38415) = 0.71674.
    assert wilson_interval(8, 10) == pytest.approx((0.49016, 0.94332), abs=1e-4)
    assert wilson_interval(0, 5) == pytest.approx((0.0, 0.43448), abs=1e-4)
    assert wilson_interval(0, 0) is None


def test_the_sign_test_by_hand() -> None:
    assert sign_test(1, 5) == pytest.approx(2 * (1 + 6) / 64)
    assert sign_test(0, 8) == pytest.approx(2 / 256)
    assert sign_test(4, 4) == 1
    assert sign_test(0, 0) == 1
    assert sign_test(20_000, 21_000) == pytest.approx(8.1e-7, rel=0.05)  # z = 4.933 corrected


def test_only_discordant_items_count() -> None:
    first = np.array([True] * 90 + [False] * 10)
    second = first.copy()
    second[90:96] = True
    second[0] = False
    test = compare_right(first, second)
    assert (test.only_first, test.only_second, test.items) == (1, 6, 100)
    assert test.difference == pytest.approx(0.05)
    assert test.p_value == pytest.approx(2 * (1 + 7) / 128)


def test_the_mean_of_paradigms_is_surer_than_one_of_them() -> None:
    scores = [Score(str(n), 100, 70, 0, 0, 0) for n in range(4)]
    low, high = mean_interval(scores) or (0, 0)
    assert high - low == pytest.approx(2 * 1.96 * (0.7 * 0.3 / 400) ** 0.5, rel=1e-3)
