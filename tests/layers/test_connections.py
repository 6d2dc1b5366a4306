import math

import pytest
import torch

from elman.errors import InputError
from elman.layers.layer import CONNECTIONS, Dense, Highway, Plain, Residual

ENTERED = torch.tensor([[[1.0, 2.0]]])
OUTPUT = torch.tensor([[[10.0, 20.0]]])


def test_plain() -> None:
    assert torch.equal(Plain(2, 2)(ENTERED, OUTPUT), OUTPUT)


def test_residual() -> None:
    assert Residual(2, 2)(ENTERED, OUTPUT).tolist() == [[[11, 22]]]


def test_dense() -> None:
    assert Dense(2, 2)(ENTERED, OUTPUT).tolist() == [[[1, 2, 10, 20]]]


def test_a_fresh_highway_carries() -> None:
    highway = Highway(2, 2)
    with torch.no_grad():
        highway.gate.weight.zero_()
    gate = 1 / (1 + math.exp(2))  # σ(-2) = 0.119
    # 1 + (10 - 1) g and 2 + (20 - 2) g
    expected = torch.tensor([[[1 + 9 * gate, 2 + 18 * gate]]])
    torch.testing.assert_close(highway(ENTERED, OUTPUT), expected)


def test_a_highway_gate_reads_the_input() -> None:
    highway = Highway(2, 2)
    with torch.no_grad():
        highway.gate.weight.copy_(torch.tensor([[100.0, 0.0], [0.0, -100.0]]))
    # gates σ(100 · 1 - 2) = 1 and σ(-100 · 2 - 2) = 0
    torch.testing.assert_close(highway(ENTERED, -OUTPUT), torch.tensor([[[-10.0, 2.0]]]))


@pytest.mark.parametrize("name", CONNECTIONS)
def test_size_is_what_is_handed_on(name) -> None:
    connection = CONNECTIONS[name](2, 2)
    assert connection(ENTERED, OUTPUT).shape == (1, 1, connection.size)
    assert connection.about


@pytest.mark.parametrize("name", ["residual", "highway"])
def test_sizes_must_agree(name) -> None:
    with pytest.raises(InputError, match=f"'{name}'.* reads 2 and gives 3 .*must be equal"):
        CONNECTIONS[name](2, 3)


def test_sizes_may_differ() -> None:
    assert (Plain(2, 3).size, Dense(2, 3).size) == (3, 5)
