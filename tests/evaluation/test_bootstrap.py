"""The paired bootstrap has the right rate of false positives."""

import numpy as np
import pytest

from elman.errors import InputError
from elman.evaluation import bootstrap
from elman.evaluation.bootstrap import (
    Measure,
    formula_of,
    macro_f1_of,
    mean_of,
    paired_bootstrap,
    resample,
    share_of,
)
from elman.evaluation.measures import measure_labels

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


def drawn_labels(count: int, seed: int) -> tuple[list[str], list[str]]:
    """Correct labels, and predictions of which some seven tenths are correct."""
    drawn = np.random.default_rng(seed)
    right = drawn.choice(["a", "b", "c", "rare"], count, p=[0.5, 0.3, 0.19, 0.01])
    guessed = np.where(drawn.random(count) < 0.7, right, drawn.choice(["a", "b", "d"], count))
    return right.tolist(), guessed.tolist()


def test_the_interval_of_accuracy_is_that_of_the_binomial_formula() -> None:
    right, guessed = drawn_labels(800, 2)
    hits = [one == other for one, other in zip(right, guessed, strict=True)]
    found = resample([[Measure("accuracy", mean_of(hits))]], 800, draws=4000)
    share = sum(hits) / 800
    low, high = found.interval(0, 0)
    spread = 1.96 * np.sqrt(share * (1 - share) / 800)
    assert found.values[0, 0] == pytest.approx(share)
    np.testing.assert_allclose([low, high], [share - spread, share + spread], atol=0.003)


def test_macro_f1_of_draws_is_that_of_the_drawn_examples() -> None:
    right, guessed = drawn_labels(60, 3)
    values = macro_f1_of(right, guessed)
    assert values(np.ones((1, 60)))[0] == pytest.approx(measure_labels(right, guessed).macro_f1)
    drawn = np.random.default_rng(4).integers(0, 60, (20, 60))
    weights = np.stack([np.bincount(row, minlength=60) for row in drawn]).astype(float)
    expected = [
        measure_labels([right[n] for n in row], [guessed[n] for n in row]).macro_f1 for row in drawn
    ]
    np.testing.assert_allclose(values(weights), expected)


def test_shares_and_formulas_of_sums() -> None:
    weights = np.array([[1.0, 1.0], [2.0, 0.0], [0.0, 0.0]])
    # 1 of 4 and 3 of 4 are right: 4 of 8; the first twice: 2 of 8; nothing drawn: 0.
    np.testing.assert_allclose(share_of([1, 3], [4, 4])(weights), [0.5, 0.25, 0.0])
    counts = np.array([[1, 4], [3, 4]])
    np.testing.assert_allclose(formula_of(counts, lambda sums: sums[0])(weights), [4, 2, 0])


def test_models_are_paired() -> None:
    # The second is right wherever the first is, and once more: never worse in any draw.
    first = np.repeat([1.0, 0.0], [60, 40])
    second = first.copy()
    second[70:80] = 1
    models = [[Measure("accuracy", mean_of(hits))] for hits in (first, second)]
    found = resample(models, 100, draws=500).compare(0, 1, 0)
    assert found.difference == pytest.approx(0.1)
    assert found.low > 0.03
    assert found.significant
    same = resample([models[0], models[0]], 100).compare(0, 1, 0)
    assert (same.difference, same.low, same.high, same.p_value) == (0, 0, 0, 1)
    assert not same.significant


def test_no_draws_are_refused() -> None:
    with pytest.raises(InputError, match="draws=0"):
        paired_bootstrap(LINES, LINES, draws=0)
