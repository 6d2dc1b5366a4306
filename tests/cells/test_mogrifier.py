"""The mogrifier LSTM against its equations."""

import pytest
import torch

from elman.cells.engine import run
from elman.cells.lstm import LSTM
from elman.cells.lstm_variants import Mogrifier
from elman.errors import InputError

INPUT, HIDDEN = 2, 3


@pytest.mark.parametrize("rank", [None, 1, 2])
@pytest.mark.parametrize("rounds", [0, 1, 2, 5])
def test_equations(rounds, rank, build, gates_of, assert_equals_naive) -> None:
    cell, weights = build(Mogrifier(INPUT, HIDDEN, rounds=rounds, rank=rank))
    i, f, g, o = gates_of(weights, "gates", HIDDEN, 4)

    def matrix(number):
        if rank is None:
            return weights[f"round{number}_state"]
        return weights[f"round{number}_out_state"] @ weights[f"round{number}_in_state"]

    def naive(x, state):
        h, c = state
        for number in range(1, rounds + 1):
            if number % 2 == 1:
                x = 2 * torch.sigmoid(h @ matrix(number).t()) * x
            else:
                h = 2 * torch.sigmoid(x @ matrix(number).t()) * h

        def gate(w):
            return x @ w.U[:, :INPUT].t() + h @ w.U[:, INPUT:].t() + w.b

        c = torch.sigmoid(gate(f)) * c + torch.sigmoid(gate(i)) * torch.tanh(gate(g))
        return torch.sigmoid(gate(o)) * torch.tanh(c), c

    assert_equals_naive(cell, weights, naive)


def test_no_rounds_is_a_plain_lstm(build) -> None:
    cell, weights = build(Mogrifier(INPUT, HIDDEN, rounds=0))
    inputs = torch.randn(2, 5, INPUT, dtype=torch.float64)
    both = weights["gates_state"]
    plain = {
        "gates_input": both[:, :INPUT],
        "gates_state": both[:, INPUT:],
        "gates_bias": weights["gates_bias"],
    }
    ours, theirs = run(cell, weights, inputs), run(LSTM(INPUT, HIDDEN), plain, inputs)
    torch.testing.assert_close(ours.outputs, theirs.outputs)


def test_low_rank_has_fewer_weights() -> None:
    shapes = Mogrifier(8, 9, rounds=2, rank=2).shapes()
    assert {name: shape for name, shape in shapes.items() if "round" in name} == {
        "round1_in_state": (2, 9),
        "round1_out_state": (8, 2),
        "round2_in_state": (2, 8),
        "round2_out_state": (9, 2),
    }


def test_forget_bias() -> None:
    cell = Mogrifier(INPUT, HIDDEN, forget_bias=10.0)
    weights = {name: torch.empty(shape) for name, shape in cell.shapes().items()}
    cell.initialise(weights)
    assert (weights["gates_bias"] > 5).nonzero().flatten().tolist() == [3, 4, 5]


def test_impossible_settings() -> None:
    with pytest.raises(InputError, match="rounds=-1 must be 0 or more"):
        Mogrifier(INPUT, HIDDEN, rounds=-1)
    with pytest.raises(InputError, match="rank of at least 1, not 0"):
        Mogrifier(INPUT, HIDDEN, rank=0)
