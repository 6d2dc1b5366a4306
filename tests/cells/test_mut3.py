"""MUT3 against its equations and torchrecurrent."""

import torch

from elman.cells.mut3 import MUT3

INPUT, HIDDEN = 2, 3


def test_equations(build, gates_of, assert_equals_naive) -> None:
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


def test_torchrecurrent(build, assert_equals_torchrecurrent) -> None:
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
