"""MUT1 against its equations and torchrecurrent."""

import pytest
import torch

from elman.cells.searched import MUT1, MUT2, MUT3
from elman.errors import InputError

SIZE = 3


def test_equations_of_mut1(build, gates_of, assert_equals_naive) -> None:
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


def test_torchrecurrent_of_mut1(build, assert_equals_torchrecurrent) -> None:
    cell, w = build(MUT1(SIZE, SIZE))
    # Theirs projects the input of the candidate, tanh(W x + b); the paper's is W = 1, b = 0.
    one, zero = torch.eye(SIZE, dtype=torch.float64), torch.zeros(SIZE, dtype=torch.float64)
    assert_equals_torchrecurrent(
        cell,
        w,
        "MUT1Cell",
        weight_ih=[w["update_input"], w["reset_input"], one],
        bias_ih=[w["update_bias"], w["reset_bias"], zero],
        weight_hh=[w["reset_state"], w["candidate_state"]],
        bias_hh=[zero, w["candidate_bias"]],
    )


def test_inputs_of_mut1_must_have_the_hidden_size() -> None:
    with pytest.raises(InputError, match="input size 2 must equal hidden size 3"):
        MUT1(2, 3)


def test_equations_of_mut2(build, gates_of, assert_equals_naive) -> None:
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


def test_torchrecurrent_of_mut2(build, assert_equals_torchrecurrent) -> None:
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


def test_inputs_of_mut2_must_have_the_hidden_size() -> None:
    with pytest.raises(InputError, match="input size 2 must equal hidden size 3"):
        MUT2(2, 3)


INPUT, HIDDEN = 2, 3


def test_equations_of_mut3(build, gates_of, assert_equals_naive) -> None:
    cell, weights = build(MUT3(INPUT, HIDDEN))
    (z,) = gates_of(weights, "update", HIDDEN, 1)
    (r,) = gates_of(weights, "reset", HIDDEN, 1)
    (c,) = gates_of(weights, "candidate", HIDDEN, 1)

    def naive(x, state):
        (h,) = state
        update = torch.sigmoid(x @ z.W.t() + torch.tanh(h) @ z.U.t() + z.b)
        reset = torch.sigmoid(x @ r.W.t() + h @ r.U.t() + r.b)
        candidate = torch.tanh((reset * h) @ c.U.t() + x @ c.W.t() + c.b)
        return (candidate * update + h * (1 - update),)

    assert_equals_naive(cell, weights, naive)


def test_torchrecurrent_of_mut3(build, assert_equals_torchrecurrent) -> None:
    cell, w = build(MUT3(INPUT, HIDDEN))
    names = ("update", "reset", "candidate")
    assert_equals_torchrecurrent(
        cell,
        w,
        "MUT3Cell",
        weight_ih=[w[f"{name}_input"] for name in names],
        bias_ih=[w[f"{name}_bias"] for name in names],
        weight_hh=[w[f"{name}_state"] for name in names],
        bias_hh=[torch.zeros(3 * HIDDEN)],
    )
