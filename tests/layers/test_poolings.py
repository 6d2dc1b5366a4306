"""Poolings against hand computations; padding has no effect."""

import pytest
import torch

from elman.layers.poolings import POOLINGS

OUTPUTS = torch.tensor([[[1.0, 4.0], [3.0, 2.0], [9.0, 9.0]]])
LENGTHS = torch.tensor([2])


@pytest.mark.parametrize(
    ("name", "directions", "expected"),
    [
        ("last", 1, [3.0, 2.0]),
        ("last", 2, [3.0, 4.0]),
        ("mean", 1, [2.0, 3.0]),
        ("max", 2, [3.0, 4.0]),
        ("concat", 1, [3.0, 2.0, 3.0, 4.0, 2.0, 3.0]),  # last, maximum, mean
    ],
)
def test_an_example_by_hand(name: str, directions: int, expected: list[float]) -> None:
    assert POOLINGS[name](2, directions)(OUTPUTS, LENGTHS).tolist() == [expected]


def test_attention_is_a_mean_with_weights() -> None:
    torch.manual_seed(0)
    pooling = POOLINGS["attention"](2, 1)
    weights = pooling.weights(OUTPUTS, LENGTHS)
    assert float(weights.detach().sum()) == pytest.approx(1)
    assert float(weights.detach()[0, 2]) == 0
    expected = (weights * OUTPUTS).sum(1)
    torch.testing.assert_close(pooling(OUTPUTS, LENGTHS), expected)


@pytest.mark.parametrize("name", POOLINGS)
def test_padding_and_neighbours_do_not_matter(name: str) -> None:
    torch.manual_seed(0)
    pooling = POOLINGS[name](4, 2)
    outputs, lengths = torch.randn(3, 5, 4), torch.tensor([5, 1, 3])
    together = pooling(outputs, lengths)
    for row, length in enumerate(lengths.tolist()):
        alone = pooling(outputs[row : row + 1, :length], lengths[row : row + 1])
        torch.testing.assert_close(together[row : row + 1], alone)
    assert POOLINGS[name].about
