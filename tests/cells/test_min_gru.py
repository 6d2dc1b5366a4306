"""The minimal GRU against its equations."""

import torch

from elman.cells.min_gru import MinGRU

INPUT, HIDDEN = 2, 3


def test_equations(build, gates_of, assert_equals_naive) -> None:
    cell, weights = build(MinGRU(INPUT, HIDDEN))
    z, c = gates_of(weights, "gates", HIDDEN, 2)

    def naive(x, state):
        (h,) = state
        update = torch.sigmoid(x @ z.W.t() + z.b)
        return ((1 - update) * h + update * (x @ c.W.t() + c.b),)

    assert_equals_naive(cell, weights, naive)
