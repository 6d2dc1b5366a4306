"""Weights of a mix of classifiers, fitted on validation."""

from __future__ import annotations

import numpy as np
import pytest

from elman.evaluation.calibration import log_softmax
from elman.evaluation.mixing import as_two_labels, fit_weights, mixed


def drawn(texts: int = 4000, labels: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Scores, and labels drawn from their softmax."""
    generator = np.random.default_rng(0)
    scores = generator.normal(size=(texts, labels))
    noise = generator.gumbel(size=scores.shape)
    return scores, (scores + noise).argmax(1)


def nats(weights: np.ndarray, scores: np.ndarray, right: np.ndarray) -> float:
    return float(-log_softmax(mixed(scores, weights))[np.arange(len(right)), right].sum())


def test_the_weights_that_made_the_labels_are_found() -> None:
    scores, right = drawn()
    noise = np.random.default_rng(1).normal(size=scores.shape)
    parts = np.stack([4 * (scores + noise), scores - noise])  # 1/8 of one and 1/2 of the other
    assert fit_weights(parts, right) == pytest.approx([0.125, 0.5], rel=0.1)


def test_no_other_weights_are_likelier() -> None:
    scores, right = drawn(300)
    noise = np.random.default_rng(2).normal(size=(2, *scores.shape))
    parts = scores + noise
    found = fit_weights(parts, right)
    assert found.min() > 0.1
    for change in np.array([[0.05, 0], [-0.05, 0], [0, 0.05], [0, -0.05], [0.05, -0.05]]):
        assert nats(found, parts, right) < nats(found + change, parts, right)


def test_a_classifier_that_is_wrong_gets_no_weight() -> None:
    scores, right = drawn(500)
    found = fit_weights(np.stack([scores, -scores[::-1], -scores]), right)
    assert found[2] == 0
    assert found[0] == pytest.approx(1, rel=0.2)
    assert found.min() == 0


def test_a_classifier_without_opinions_gets_no_weight() -> None:
    scores, right = drawn(500)
    found = fit_weights(np.stack([scores, np.ones_like(scores)]), right)
    assert found[1] == 0
    assert found[0] == pytest.approx(1, rel=0.2)


def test_weights_stay_finite_where_everything_is_right() -> None:
    scores, _ = drawn(200)
    found = fit_weights(scores[None], scores.argmax(1))
    assert 1 < found[0] < 1000


def test_labels_that_training_never_saw_do_not_count() -> None:
    scores, right = drawn(500)
    more = np.concatenate([scores, 100 * scores[:50]])
    unseen = np.concatenate([right, np.full(50, 3)])
    assert fit_weights(more[None], unseen) == pytest.approx(fit_weights(scores[None], right))


def test_several_labels_are_choices_between_two() -> None:
    scores = np.array([[[2.0, -1.0]]])
    pairs, right = as_two_labels(scores, np.array([[True, False]]))
    assert pairs.tolist() == [[[0.0, 2.0], [0.0, -1.0]]]
    assert right.tolist() == [1, 0]
