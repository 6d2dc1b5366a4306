"""Linear regression: least squares, random intercepts, held-out likelihood, natural splines.

    y = X β + ε            ε ~ N(0, σ²)                   `fit`
    y = X β + u_g + ε      u_g ~ N(0, τ²) of its group    `fit` with groups

Takes a matrix of predictors and a vector, gives a `Fit`; called for reading times. Estimates are of
maximum likelihood, standard errors those of the usual tables: with the residual degrees of freedom
for least squares, from the information matrix for random intercepts. The variance ratio λ = τ²/σ²
is found by a search in one dimension, because given λ everything else has a closed form:

    (I + λ 11ᵀ)⁻¹ = I − λ/(1 + nλ) 11ᵀ       of a group with n rows
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

_SMALLEST, _LARGEST = -18.0, 12.0  # of log λ
_SEARCH = 80  # halvings by the golden section: far below 1e-9
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class Fit:
    """A regression that was fitted."""

    coefficients: np.ndarray  # (P,)
    errors: np.ndarray  # (P,): standard errors
    variance: float  # σ²
    between: float  # τ², 0 without groups
    log_likelihood: float
    intercepts: dict[str, tuple[float, float]]  # by group: expected u, and its variance

    def log_densities(
        self, predictors: np.ndarray, values: np.ndarray, groups: Sequence[str] | None = None
    ) -> np.ndarray:
        """The log density of each value, (N,); a group that was not fitted has u = 0 ± τ."""
        mean, variance = predictors @ self.coefficients, np.full(len(values), self.variance)
        if groups is not None:
            found = np.array([self.intercepts.get(group, (0.0, self.between)) for group in groups])
            mean, variance = mean + found[:, 0], variance + found[:, 1]
        return -0.5 * (np.log(2 * np.pi * variance) + (values - mean) ** 2 / variance)


def fit(predictors: np.ndarray, values: np.ndarray, groups: Sequence[str] | None = None) -> Fit:
    """Least squares, or random intercepts of groups."""
    if groups is not None:
        return _fit_intercepts(predictors, values, groups)
    rows, columns = predictors.shape
    coefficients, *_ = np.linalg.lstsq(predictors, values, rcond=None)
    residuals = values - predictors @ coefficients
    variance = float(residuals @ residuals) / rows
    free = max(rows - columns, 1)
    covariance = np.linalg.pinv(predictors.T @ predictors) * variance * rows / free
    likelihood = -rows / 2 * (math.log(2 * math.pi * variance) + 1)
    return Fit(coefficients, np.sqrt(np.diag(covariance)), variance, 0.0, likelihood, {})


def _fit_intercepts(predictors: np.ndarray, values: np.ndarray, groups: Sequence[str]) -> Fit:
    names, number = np.unique(np.asarray(groups), return_inverse=True)
    both = np.column_stack([predictors, values])
    sizes = np.bincount(number).astype(np.float64)
    sums = np.stack([np.bincount(number, column) for column in both.T], axis=1)  # (G, P + 1)
    products = both.T @ both
    rows, columns = predictors.shape

    def solve(ratio: float) -> tuple[float, np.ndarray, np.ndarray, float]:
        """Log likelihood, coefficients, information / σ², and σ² for λ = ratio."""
        weights = ratio / (1 + sizes * ratio)
        whole = products - (sums * weights[:, None]).T @ sums  # of X and y, weighted by V⁻¹
        information, crossed = whole[:columns, :columns], whole[:columns, columns]
        coefficients = np.linalg.lstsq(information, crossed, rcond=None)[0]
        rest = float(whole[columns, columns] - crossed @ coefficients)
        variance = max(rest, 1e-300) / rows
        determinant = float(np.log1p(sizes * ratio).sum())
        likelihood = -0.5 * (rows * (math.log(2 * math.pi * variance) + 1) + determinant)
        return likelihood, coefficients, information, variance

    ratio = _best(lambda log_ratio: solve(math.exp(log_ratio))[0])
    likelihood, coefficients, information, variance = solve(ratio)
    errors = np.sqrt(np.diag(np.linalg.pinv(information)) * variance)
    between = ratio * variance
    shrunk = ratio / (1 + sizes * ratio)
    expected = shrunk * (sums[:, columns] - sums[:, :columns] @ coefficients)
    intercepts = {
        str(name): (float(mean), float(spread))
        for name, mean, spread in zip(names, expected, shrunk * variance, strict=True)
    }
    return Fit(coefficients, errors, variance, between, likelihood, intercepts)


def _best(likelihood: Callable[[float], float]) -> float:
    """The ratio of highest likelihood; 0 if no variance between groups is best."""
    low, high = _SMALLEST, _LARGEST
    one, two = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    of_one, of_two = likelihood(one), likelihood(two)
    for _ in range(_SEARCH):
        if of_one >= of_two:
            high, two, of_two = two, one, of_one
            one = high - _GOLDEN * (high - low)
            of_one = likelihood(one)
        else:
            low, one, of_one = one, two, of_two
            two = low + _GOLDEN * (high - low)
            of_two = likelihood(two)
    middle = (low + high) / 2
    return math.exp(middle) if middle > _SMALLEST + 1e-6 else 0.0


def held_out(
    predictors: np.ndarray,
    values: np.ndarray,
    folds: np.ndarray,
    groups: Sequence[str] | None = None,
) -> np.ndarray:
    """The log density of each value under a fit to the other folds, (N,)."""
    result = np.empty(len(values))
    named = None if groups is None else np.asarray(groups)
    for fold in np.unique(folds):
        inside = folds == fold
        fitted = fit(
            predictors[~inside], values[~inside], None if named is None else [*named[~inside]]
        )
        own = None if named is None else [*named[inside]]
        result[inside] = fitted.log_densities(predictors[inside], values[inside], own)
    return result


def natural_spline(values: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """The columns of a natural cubic spline, (N, knots − 1): the line, then the bends.

    Cubic between the knots, straight beyond the first and the last (Hastie, Tibshirani & Friedman,
    *The Elements of Statistical Learning*, section 5.2.1). Without the bends it is the line.
    """
    last, before = knots[-1], knots[-2]

    def bend(knot: float) -> np.ndarray:
        above = np.maximum(values - knot, 0) ** 3 - np.maximum(values - last, 0) ** 3
        return above / (last - knot)

    return np.column_stack([values, *(bend(knot) - bend(before) for knot in knots[:-2])])


def likelihood_ratio_p(gain: float, parameters: int) -> float:
    """The p-value of a gain in log likelihood by so many more parameters: χ² (Wilks)."""
    half = torch.tensor([parameters / 2, max(gain, 0.0)], dtype=torch.float64)
    return float(torch.special.gammaincc(half[0], half[1]))
