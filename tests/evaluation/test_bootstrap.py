"""The paired bootstrap has the right rate of false positives."""

import numpy as np
import pytest

from elman.evaluation import bootstrap
from elman.evaluation.bootstrap import paired_bootstrap

RANDOM = np.random.default_rng(11)
LINES = RANDOM.gamma(4, 5, 300)


def test_a_clear_difference_is_significant() -> None:
    found = paired_bootstrap(LINES, LINES * 0.9)
    assert found.p_value < 0.01
    assert found.low < found.difference < found.high < 0
    np.testing.assert_allclose(found.difference, -0.1 * LINES.sum())


def test_the_sign_says_which_is_better() -> None:
    better, worse = paired_bootstrap(LINES, LINES - 1), paired_bootstrap(LINES, LINES + 1)
    assert better.difference < 0 < worse.difference
    assert better.p_value == worse.p_value


def test_the_same_model_twice_is_no_difference() -> None:
    found = paired_bootstrap(LINES, LINES.copy())
    assert (found.difference, found.low, found.high, found.p_value) == (0, 0, 0, 1)


def test_a_p_value_is_never_zero() -> None:
    found = paired_bootstrap(LINES, LINES + 100, draws=50)
    assert found.p_value == 2 / 51  # as if one draw more had gone the other way


def test_the_seed_decides() -> None:
    other = LINES + RANDOM.normal(0.05, 1, len(LINES))
    assert paired_bootstrap(LINES, other, seed=3) == paired_bootstrap(LINES, other, seed=3)
    assert paired_bootstrap(LINES, other, seed=3) != paired_bootstrap(LINES, other, seed=4)


def test_long_texts_are_drawn_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    other = LINES + RANDOM.normal(0.05, 1, len(LINES))
    at_once = paired_bootstrap(LINES, other, draws=100)
    monkeypatch.setattr(bootstrap, "_AT_ONCE", 7 * len(LINES))
    assert paired_bootstrap(LINES, other, draws=100) == at_once


def test_the_interval_is_that_of_the_sum() -> None:
    other = LINES + RANDOM.normal(0, 1, len(LINES))
    found = paired_bootstrap(LINES, other, draws=4000)
    # Of n independent differences, the sum has the standard deviation sqrt(n) times theirs.
    spread = np.std(other - LINES) * np.sqrt(len(LINES))
    np.testing.assert_allclose(found.high - found.low, 2 * 1.96 * spread, rtol=0.1)


def test_without_a_true_difference_one_in_twenty_is_called_significant() -> None:
    found = [
        paired_bootstrap(np.zeros(100), differences, draws=300, seed=number).p_value < 0.05
        for number, differences in enumerate(RANDOM.normal(0, 1, (600, 100)))
    ]
    # The standard deviation of the share is sqrt(0.05 * 0.95 / 600) = 0.009.
    assert 0.02 < np.mean(found) < 0.09
