"""Regressions agree with statsmodels, with the closed form, and with what was put in."""

import warnings

import numpy as np
import pytest

from elman.evaluation.regression import fit, held_out, likelihood_ratio_p, natural_spline


def simulated(
    subjects: int = 25, each: int = 40, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    random = np.random.default_rng(seed)
    rows = subjects * each
    predictors = np.column_stack(
        [np.ones(rows), random.gamma(4, 2, rows), random.normal(size=rows)]
    )
    groups = np.repeat(np.arange(subjects), each)
    own = random.normal(0, 40, subjects)
    values = predictors @ [300.0, 3.0, -2.0] + own[groups] + random.normal(0, 20, rows)
    return predictors, values, [f"s{number:02}" for number in groups]


def test_least_squares_by_hand() -> None:
    # y = 1, 2, 4 at x = 0, 1, 2: slope 3/2, intercept 5/6, residuals 1/6, -1/3, 1/6.
    found = fit(np.array([[1.0, 0], [1, 1], [1, 2]]), np.array([1.0, 2, 4]))
    assert found.coefficients == pytest.approx([5 / 6, 3 / 2])
    assert found.variance == pytest.approx(1 / 18)  # (1/36 + 1/9 + 1/36) / 3
    assert found.errors[1] == pytest.approx(np.sqrt(1 / 6 / 1 / 2))  # rest / (n − 2) / Σ(x − x̄)²


def test_agrees_with_statsmodels() -> None:
    models = pytest.importorskip("statsmodels.api", reason="statsmodels is not installed")
    predictors, values, groups = simulated()
    plain, theirs = fit(predictors, values), models.OLS(values, predictors).fit()
    assert plain.coefficients == pytest.approx(theirs.params, rel=1e-9)
    assert plain.errors == pytest.approx(theirs.bse, rel=1e-9)
    assert plain.log_likelihood == pytest.approx(theirs.llf, rel=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixed = models.MixedLM(values, predictors, groups=groups).fit(reml=False)
    ours = fit(predictors, values, groups)
    assert ours.coefficients == pytest.approx(mixed.fe_params, rel=1e-5)
    assert ours.errors == pytest.approx(mixed.bse_fe, rel=1e-4)
    assert ours.log_likelihood == pytest.approx(mixed.llf, abs=1e-5)
    assert ours.variance == pytest.approx(mixed.scale, rel=1e-4)
    assert ours.between == pytest.approx(float(np.asarray(mixed.cov_re)[0, 0]), rel=1e-3)
    theirs_of_one = float(np.asarray(mixed.random_effects["s03"])[0])
    assert ours.intercepts["s03"][0] == pytest.approx(theirs_of_one, rel=1e-3)


def test_random_intercepts_find_what_was_put_in() -> None:
    predictors, values, groups = simulated(subjects=60, each=60, seed=1)
    found = fit(predictors, values, groups)
    assert found.coefficients[1:] == pytest.approx([3.0, -2.0], abs=0.8)
    assert np.sqrt(found.between) == pytest.approx(40, rel=0.25)
    assert np.sqrt(found.variance) == pytest.approx(20, rel=0.05)
    assert found.errors[1] < fit(predictors, values).errors[1]  # subjects no longer blur the slope


def test_no_variance_between_groups_is_least_squares() -> None:
    predictors, values, _ = simulated()
    groups = [str(number % 5) for number in range(len(values))]
    values = values - np.array(
        [values[number % 5 :: 5].mean() for number in range(len(values))]
    )  # less than chance
    found, plain = fit(predictors, values, groups), fit(predictors, values)
    assert found.between == 0
    assert found.coefficients == pytest.approx(plain.coefficients)
    assert found.log_likelihood == pytest.approx(plain.log_likelihood)


def test_held_out_rows_are_not_fitted() -> None:
    predictors, values, groups = simulated()
    folds = np.arange(len(values)) % 4
    before = held_out(predictors, values, folds, groups)
    changed = values.copy()
    changed[folds == 2] += 1000
    after = held_out(predictors, changed, folds, groups)
    # Only a density of the fold itself may fall this far; its fit is the same as before.
    others = [g for g, f in zip(groups, folds, strict=True) if f != 2]
    fitted = fit(predictors[folds != 2], values[folds != 2], others)
    own = [g for g, f in zip(groups, folds, strict=True) if f == 2]
    expected = fitted.log_densities(predictors[folds == 2], values[folds == 2], own)
    assert before[folds == 2] == pytest.approx(expected)
    assert (after[folds == 2] < before[folds == 2] - 100).all()


def test_a_known_subject_is_predicted_better_than_a_stranger() -> None:
    predictors, values, groups = simulated()
    found = fit(predictors, values, groups)
    known = found.log_densities(predictors, values, groups).mean()
    strange = found.log_densities(predictors, values, ["nobody"] * len(values)).mean()
    assert known > strange + 0.3


def test_a_natural_spline_is_straight_outside_and_smooth_inside() -> None:
    knots = np.array([1.0, 2.0, 4.0, 7.0])
    x = np.linspace(-5, 15, 4001)
    columns = natural_spline(x, knots)
    assert columns.shape == (4001, 3)
    bends = np.diff(columns, 2, axis=0) / (x[1] - x[0]) ** 2
    outside = (x[1:-1] < 1 - 0.01) | (x[1:-1] > 7 + 0.01)
    assert np.abs(bends[outside]).max() < 1e-4
    assert np.abs(bends[~outside, 1:]).max() > 0.5
    assert np.abs(np.diff(bends, axis=0)).max() < 0.1  # no jump of the second derivative


def test_the_likelihood_ratio_test_knows_the_table() -> None:
    assert likelihood_ratio_p(3.841459 / 2, 1) == pytest.approx(0.05, abs=1e-6)
    assert likelihood_ratio_p(18.30704 / 2, 10) == pytest.approx(0.05, abs=1e-6)
    assert likelihood_ratio_p(-1, 3) == 1
