"""MUT1 against its equations and torchrecurrent."""

import pytest
import torch

from elman.cells.mut1 import MUT1
from elman.errors import InputError

SIZE = 3


def test_equations(build, gates_of, assert_equals_naive) -> None:
    cell, weights = build(MUT1(SIZE, SIZE))
    (z,) = gates_of(weights, "update", SIZE, 1)
    (r,) = gates_of(weights, "reset", SIZE, 1)
    (c,) = gates_of(weights, "candidate", SIZE, 1)

    def naive(x, state):
        (h,) = state
        update = torch.sigmoid(x @ z.W.t() + z.b)
        reset = torch.sigmoid(x @ r.W.t() + h @ r.U.t() + r.b)
        candidate = torch.tanh((reset * h) @ c.U.t() + torch.tanh(x) + c.b)
        return (candidate * update + h * (1 - update),)

    assert_equals_naive(cell, weights, naive)


def test_torchrecurrent(build, assert_equals_module) -> None:
    torchrecurrent = pytest.importorskip("torchrecurrent")
    cell, w = build(MUT1(SIZE, SIZE))
    theirs = torchrecurrent.MUT1Cell(SIZE, SIZE, dtype=torch.float64)
    # Theirs projects the input of the candidate, tanh(W x + b); the paper's is W = 1, b = 0.
    one, zero = torch.eye(SIZE, dtype=torch.float64), torch.zeros(SIZE, dtype=torch.float64)
    with torch.no_grad():
        theirs.weight_ih.copy_(torch.cat([w["update_input"], w["reset_input"], one]))
        theirs.bias_ih.copy_(torch.cat([w["update_bias"], w["reset_bias"], zero]))
        theirs.weight_hh.copy_(torch.cat([w["reset_state"], w["candidate_state"]]))
        theirs.bias_hh.copy_(torch.cat([zero, w["candidate_bias"]]))
    assert_equals_module(cell, w, theirs)


def test_inputs_must_have_the_hidden_size() -> None:
    with pytest.raises(InputError, match="input size 2 must equal hidden size 3"):
        MUT1(2, 3)
