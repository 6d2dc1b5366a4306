"""The minimal LSTM against its equations."""

import pytest
import torch

from elman.cells.engine import run
from elman.cells.min_lstm import MinLSTM

INPUT, HIDDEN = 2, 3


def test_equations(build, gates_of, assert_equals_naive) -> None:
    cell, weights = build(MinLSTM(INPUT, HIDDEN))
    f, i, c = gates_of(weights, "gates", HIDDEN, 3)

    def naive(x, state):
        (h,) = state
        forget_gate = torch.sigmoid(x @ f.W.t() + f.b)
        input_gate = torch.sigmoid(x @ i.W.t() + i.b)
        whole = forget_gate + input_gate
        return (forget_gate / whole * h + input_gate / whole * (x @ c.W.t() + c.b),)

    assert_equals_naive(cell, weights, naive)


@pytest.mark.parametrize("fuse", [True, False])
def test_both_gates_shut_still_share_one_whole(fuse: bool) -> None:
    # σ(-1000) is 0 in any precision, so f / (f + i) would be 0 / 0; its limit is 1/2.
    bias = torch.tensor([-1000.0, -1000.0, 8.0])
    weights = {"gates_input": torch.zeros(3, 1), "gates_bias": bias}
    outputs = run(MinLSTM(1, 1), weights, torch.ones(1, 3, 1), fuse=fuse).outputs
    assert outputs.flatten().tolist() == [4, 6, 7]  # 8/2, (4 + 8)/2, (6 + 8)/2
