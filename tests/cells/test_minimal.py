"""The minimal GRU against its equations."""

import pytest
import torch

from elman.cells.engine import run
from elman.cells.minimal import MinGRU, MinLSTM, scan

INPUT, HIDDEN = 2, 3


def test_equations_of_the_gru(build, gates_of, assert_equals_naive) -> None:
    cell, weights = build(MinGRU(INPUT, HIDDEN))
    z, c = gates_of(weights, "gates", HIDDEN, 2)

    def naive(x, state):
        (h,) = state
        update = torch.sigmoid(x @ z.W.t() + z.b)
        return ((1 - update) * h + update * (x @ c.W.t() + c.b),)

    assert_equals_naive(cell, weights, naive)


INPUT, HIDDEN = 2, 3


def test_equations_of_the_lstm(build, gates_of, assert_equals_naive) -> None:
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


def loop(decay: torch.Tensor, added: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    outputs = []
    for a, b in zip(decay.unbind(1), added.unbind(1), strict=True):
        start = a * start + b
        outputs.append(start)
    return torch.stack(outputs, dim=1)


def test_a_scan_by_hand() -> None:
    decay = torch.tensor([1.0, 0.5, 0.0, 2.0]).view(1, 4, 1)
    added = torch.tensor([1.0, 2.0, 3.0, 4.0]).view(1, 4, 1)
    # 1·10 + 1, 0.5·11 + 2, 0·7.5 + 3, 2·3 + 4
    outputs = scan(decay, added, torch.tensor([[10.0]]))
    assert outputs.flatten().tolist() == [11, 7.5, 3, 10]


@pytest.mark.parametrize("walk", [False, True], ids=["double", "walk"])
@pytest.mark.parametrize("time", [1, 2, 3, 4, 5, 8, 9, 31, 64])
def test_equals_a_loop(time: int, walk: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elman.cells.minimal._WORTH_WALKING", 0 if walk else 1000)
    decay = torch.rand(2, time, 3, dtype=torch.float64, requires_grad=True)
    added = torch.randn(2, time, 3, dtype=torch.float64, requires_grad=True)
    start = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    leaves = (decay, added, start)
    ours, theirs = scan(*leaves), loop(*leaves)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    weight = torch.randn_like(ours)
    found = torch.autograd.grad((ours * weight).sum(), leaves)
    expected = torch.autograd.grad((theirs * weight).sum(), leaves)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def test_inputs_are_left_alone() -> None:
    decay, added, start = torch.rand(1, 5, 2), torch.rand(1, 5, 2), torch.rand(1, 2)
    copies = decay.clone(), added.clone(), start.clone()
    scan(decay, added, start)
    for tensor, copy in zip((decay, added, start), copies, strict=True):
        assert torch.equal(tensor, copy)


def test_gradients_of_gradients() -> None:
    shapes = ((1, 4, 2), (1, 4, 2), (1, 2))
    leaves = [torch.rand(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    assert torch.autograd.gradgradcheck(scan, leaves)


def test_long_and_closed_gates_stay_exact() -> None:
    # Cumulative products reach 0 within a few steps here; dividing by them would give NaN.
    decay = torch.full((1, 4096, 1), 1e-30)
    decay[:, ::2] = 1.0
    added = torch.ones(1, 4096, 1)
    outputs = scan(decay, added, torch.ones(1, 1))
    assert outputs.flatten()[:4].tolist() == [2, 1, 2, 1]
    assert torch.equal(outputs, loop(decay, added, torch.ones(1, 1)))
