"""MUT2 against its equations and torchrecurrent."""

import pytest
import torch

from elman.cells.mut2 import MUT2
from elman.errors import InputError

SIZE = 3


def test_equations(build, gates_of, assert_equals_naive) -> None:
    cell, weights = build(MUT2(SIZE, SIZE))
    z, r = gates_of(weights, "gates", SIZE, 2)
    (c,) = gates_of(weights, "candidate", SIZE, 1)

    def naive(x, state):
        (h,) = state
        update = torch.sigmoid(x @ z.W.t() + h @ z.U.t() + z.b)
        reset = torch.sigmoid(x + h @ r.U.t() + r.b)
        candidate = torch.tanh((reset * h) @ c.U.t() + x @ c.W.t() + c.b)
        return (candidate * update + h * (1 - update),)

    assert_equals_naive(cell, weights, naive)


def test_torchrecurrent(build, assert_equals_torchrecurrent) -> None:
    cell, w = build(MUT2(SIZE, SIZE))
    # Theirs projects the input of the reset gate, W x + b; the paper's is W = 1, b = 0.
    one, zero = torch.eye(SIZE, dtype=torch.float64), torch.zeros(SIZE, dtype=torch.float64)
    assert_equals_torchrecurrent(
        cell,
        w,
        "MUT2Cell",
        weight_ih=[w["gates_input"], one, w["candidate_input"]],
        bias_ih=[zero, zero, w["candidate_bias"]],
        weight_hh=[w["gates_state"], w["candidate_state"]],
        bias_hh=[w["gates_bias"], zero],
    )


def test_inputs_must_have_the_hidden_size() -> None:
    with pytest.raises(InputError, match="input size 2 must equal hidden size 3"):
        MUT2(2, 3)
