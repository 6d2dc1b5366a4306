"""Expected calibration error by hand; the fitted temperature against torch's LBFGS."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from elman.evaluation.calibration import (
    FEWEST,
    calibrate,
    fit_calibration,
    measure_reliability,
    predict_labels,
)


def test_the_error_by_hand() -> None:
    confidences = np.array([0.95, 0.97, 1.0, 0.55, 0.58, 0.3])
    correct = np.array([True, False, True, True, False, False])
    found = measure_reliability(confidences, correct)
    # Three in (14/15, 1]: confidence 0.97333, accuracy 2/3. 0.55 and 0.58 in (8/15, 9/15]:
    # 0.565, 1/2. 0.3 in (4/15, 5/15]: 0.3, 0.
    gaps = [3 * abs(2 / 3 - 2.92 / 3), 2 * abs(0.5 - 0.565), 1 * 0.3]
    assert found.error == pytest.approx(sum(gaps) / 6)
    assert [one.predictions for one in found.bins] == [0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 3]
    assert found.bins[0].share_right is None


def test_edges_of_bins() -> None:
    found = measure_reliability(np.array([0.0, 1 / 15, 0.0667, 1.0]), np.ones(4, dtype=bool))
    assert [one.predictions for one in found.bins][:2] == [2, 1]
    assert found.bins[-1].predictions == 1
    assert measure_reliability(np.array([]), np.array([], dtype=bool)).error == 0


def overconfident(seed: int = 0, count: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Scores that are three times as large as those that drew the labels."""
    drawn = np.random.default_rng(seed)
    true = drawn.normal(size=(count, 4))
    shares = np.exp(true) / np.exp(true).sum(1, keepdims=True)
    labels = np.array([drawn.choice(4, p=share) for share in shares])
    return 3 * true, labels


@pytest.mark.parametrize("scale", [1e-2, 1e2])
def test_a_temperature_may_be_extreme(scale: float) -> None:
    scores, labels = overconfident()
    usual, found = (
        fit_calibration(predict_labels(size * scores, labels), len(labels))["temperature"]
        for size in (1.0, scale)
    )
    assert found == pytest.approx(scale * usual, rel=1e-3)


def test_the_temperature_minimises_the_likelihood() -> None:
    scores, labels = overconfident()
    found = fit_calibration(predict_labels(scores, labels), len(labels))
    inverse = torch.ones(1, dtype=torch.float64, requires_grad=True)
    search = torch.optim.LBFGS([inverse], max_iter=100, line_search_fn="strong_wolfe")

    def step() -> torch.Tensor:
        search.zero_grad()
        loss = cross_entropy(torch.from_numpy(scores) * inverse, torch.from_numpy(labels))
        loss.backward()
        return loss

    search.step(step)
    assert found["temperature"] == pytest.approx(1 / float(inverse.detach()), rel=1e-4)
    assert 2 < found["temperature"] < 4
    assert found["error_after"] < 0.5 * found["error_before"]


def test_predictions_stay_the_same() -> None:
    scores, labels = overconfident()
    predict = predict_labels(scores, labels)
    assert (predict(0.3).correct == predict(5.0).correct).all()
    measured = calibrate(predict, 3.0)
    assert measured.to_data()["error"] == measured.reliability.error
    assert [name for name, _ in measured.rows()] == [
        "calibration error",
        "calibration error before",
    ]
    assert [name for name, _ in calibrate(predict, 1.0).rows()] == ["calibration error"]


def test_unseen_labels_are_wrong_and_have_no_nats() -> None:
    scores = np.zeros((2, 2))
    found = predict_labels(scores, np.array([0, 2]))(1.0)
    assert found.nats == pytest.approx(np.log(2))
    assert found.correct.tolist() == [True, False]


def test_too_few_examples_or_no_errors_leave_it_at_one() -> None:
    scores, labels = overconfident(count=FEWEST - 1)
    found = fit_calibration(predict_labels(scores, labels), len(labels))
    assert found == {"temperature": 1.0, "examples": FEWEST - 1}
    right = overconfident()[0]
    assert fit_calibration(predict_labels(right, right.argmax(1)), len(right))["temperature"] == 1
