"""Mix the scores of several classifiers: one weight for each, fitted on validation.

    scores of a mix = Σ_i w_i · scores_i        w_i ≥ 0

A network that has learned a few hundred texts by heart is far too sure of itself, and a plain sum
follows it even where a more careful classifier is right. The weights maximise the likelihood of the
correct labels of texts that were not trained on; a temperature (`calibration.py`) is the case of
one classifier. The likelihood is concave in the weights, so Newton's method finds its maximum.
"""

from __future__ import annotations

import numpy as np

from elman.evaluation.calibration import log_softmax

_STEPS = 50
_HALVINGS = 30
_ENOUGH = 1e-10  # gain per example that ends the search
_WIDTH = 10.0  # standard deviation of weights times scores: keeps the weights finite


def fit_weights(scores: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The weights of classifiers (P,), from scores (P, N, K) and the correct labels (N,).

    A classifier that would get a negative weight gets none. Labels of K or more, which training
    never saw, do not count.
    """
    seen = right < scores.shape[2]
    scores, right = scores[:, seen], right[seen]
    weights = np.zeros(len(scores))
    centred = scores - scores.mean(2, keepdims=True)
    used = [number for number, part in enumerate(centred) if part.any()]
    while used and len(right):
        found = _newton(centred[used], right)
        if found.min() >= 0:
            weights[used] = found
            break
        del used[int(found.argmin())]
    return weights


def mixed(scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weighted sum (N, K) of scores (P, N, K)."""
    found: np.ndarray = np.tensordot(weights, scores, 1)
    return found


def as_two_labels(scores: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels that a text has or has not, each as a choice between two: (P, N · K, 2), (N · K,)."""
    flat = scores.reshape(len(scores), -1)
    return np.stack([np.zeros_like(flat), flat], axis=2), right.ravel().astype(np.int64)


def _newton(scores: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The weights with the highest likelihood, of any sign."""
    prior = np.square(scores).mean((1, 2)) / _WIDTH**2  # a weak one
    weights = np.zeros(len(scores))
    loss = _loss(weights, scores, right, prior)
    for _ in range(_STEPS):
        step = _step(weights, scores, right, prior)
        for _ in range(_HALVINGS):
            after = _loss(weights - step, scores, right, prior)
            if after <= loss:
                break
            step = step / 2
        else:
            break
        weights, gain, loss = weights - step, loss - after, after
        if gain < _ENOUGH * len(right):
            break
    return weights


def _loss(weights: np.ndarray, scores: np.ndarray, right: np.ndarray, prior: np.ndarray) -> float:
    log_probs = log_softmax(mixed(scores, weights))
    return float(np.square(weights) @ prior / 2 - log_probs[np.arange(len(right)), right].sum())


def _step(
    weights: np.ndarray, scores: np.ndarray, right: np.ndarray, prior: np.ndarray
) -> np.ndarray:
    """The inverse of the second derivatives times the first."""
    probs = np.exp(log_softmax(mixed(scores, weights)))  # (N, K)
    expected = (scores * probs).sum(2)  # (P, N)
    of_right = scores[:, np.arange(len(right)), right]
    gradient = (expected - of_right).sum(1) + prior * weights
    deviation = scores - expected[:, :, None]
    second = np.einsum("ink,jnk,nk->ij", deviation, deviation, probs, optimize=True)
    second += np.diag(prior) + 1e-9 * np.eye(len(prior))
    found: np.ndarray = np.linalg.solve(second, gradient)
    return found
