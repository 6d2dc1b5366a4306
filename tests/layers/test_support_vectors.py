"""The linear support vector machine: its minimum, pairs of matrices, groups of labels, weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from elman.layers import support_vectors
from elman.layers.support_vectors import Bags, fit_support_vectors

COLUMNS = 50


def drawn(rows: int, seed: int = 0) -> tuple[Bags, torch.Tensor]:
    """Bags of 1 to 9 features, some twice, and the matrix that they stand for."""
    random = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 10, (rows,), generator=random)
    columns = torch.randint(0, COLUMNS - 5, (int(lengths.sum()),), generator=random)
    by_row = (torch.rand(rows, generator=random) + 0.5) / 3
    by_column = torch.rand(COLUMNS, generator=random) + 0.5
    matrix = torch.zeros(rows, COLUMNS)
    places = (torch.repeat_interleave(torch.arange(rows), lengths), columns)
    matrix.index_put_(places, torch.ones(len(columns)), accumulate=True)
    bags = Bags(columns.int(), lengths.cumsum(0) - lengths, by_row, by_column)
    return bags, matrix * by_row.unsqueeze(1) * by_column


def labels_of(matrix: torch.Tensor, count: int = 3, seed: int = 1) -> torch.Tensor:
    random = torch.Generator().manual_seed(seed)
    scores = matrix @ torch.randn(COLUMNS, count, generator=random)
    noise = torch.randn(scores.shape, generator=random)
    return torch.nn.functional.one_hot((scores + noise).argmax(1), count).float()


@pytest.fixture(autouse=True)
def _exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(support_vectors, "_ENOUGH", 1e-6)
    monkeypatch.setattr(support_vectors, "_MOST_STEPS", 1000)


def test_products_are_those_of_the_matrix() -> None:
    bags, matrix = drawn(30)
    weights, errors = torch.randn(COLUMNS, 4), torch.randn(30, 4)
    used = matrix[:, bags.used]
    torch.testing.assert_close(bags.times(weights[bags.used]), used @ weights[bags.used])
    torch.testing.assert_close(bags.transposed_times(errors), used.T @ errors)


@pytest.mark.parametrize("cost", [0.1, 1.0, 10.0])
def test_scores_are_those_of_scikit_learn(cost: float) -> None:
    svm = pytest.importorskip("sklearn.svm")
    bags, matrix = drawn(200)
    labels = labels_of(matrix)
    costs = torch.rand(200) + 0.5
    (weights,), bias = fit_support_vectors([bags], labels, cost, weights=costs)
    other = svm.LinearSVC(C=cost, tol=1e-8, max_iter=100_000)
    other.fit(matrix.numpy(), labels.argmax(1).numpy(), sample_weight=costs.numpy())
    found = (bags.times(weights) + bias).numpy()
    np.testing.assert_allclose(found, other.decision_function(matrix.numpy()), atol=5e-3)


def test_a_matrix_in_two_parts_is_one_matrix() -> None:
    first, left = drawn(100)
    second, right = drawn(100, seed=5)
    labels = labels_of(left + right)
    (one, two), bias = fit_support_vectors([first, second], labels, 1.0)
    scores = first.times(one) + second.times(two) + bias
    # At the minimum, the weights are the negative gradient of the loss of the texts.
    signs = 2 * labels - 1
    errors = -2 * signs * (1 - signs * scores).clamp(min=0)
    torch.testing.assert_close(one, -first.transposed_times(errors), atol=5e-3, rtol=0)
    torch.testing.assert_close(two, -second.transposed_times(errors), atol=5e-3, rtol=0)
    torch.testing.assert_close(bias, -errors.sum(0), atol=2e-2, rtol=0)


def test_groups_of_labels_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    bags, matrix = drawn(100)
    labels = labels_of(matrix, count=5)
    (whole,), bias = fit_support_vectors([bags], labels, 1.0)
    monkeypatch.setattr(support_vectors, "_MOST_WEIGHTS", 100)
    (grouped,), other = fit_support_vectors([bags], labels, 1.0)
    torch.testing.assert_close(grouped, whole, atol=1e-3, rtol=0)
    torch.testing.assert_close(other, bias, atol=1e-3, rtol=0)


def test_weight_two_is_the_text_twice() -> None:
    columns = torch.tensor([0, 1, 2, 1, 3, 0, 4])
    starts = torch.tensor([0, 3, 5])
    labels = torch.eye(2)[[0, 1, 0]]
    once = Bags(columns, starts, torch.ones(3), torch.ones(5))
    weights = torch.tensor([1.0, 1.0, 2.0])
    (weighted,), bias = fit_support_vectors([once], labels, 1.0, weights=weights)
    again = torch.cat([columns, columns[5:]])
    twice = Bags(again, torch.tensor([0, 3, 5, 7]), torch.ones(4), torch.ones(5))
    (copied,), other = fit_support_vectors([twice], torch.eye(2)[[0, 1, 0, 0]], 1.0)
    torch.testing.assert_close(weighted, copied, atol=1e-4, rtol=0)
    torch.testing.assert_close(bias, other, atol=1e-4, rtol=0)
    (plain,), _ = fit_support_vectors([once], labels, 1.0)
    assert not torch.allclose(plain, weighted, atol=1e-2)


def test_without_time_the_weights_stay_at_zero() -> None:
    bags, matrix = drawn(40)
    (weights,), bias = fit_support_vectors([bags], labels_of(matrix), 1.0, seconds=-1.0)
    assert not weights.any()
    assert not bias.any()
