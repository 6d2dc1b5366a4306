"""The recurrent highway network against its equations."""

import pytest
import torch

from elman.cells.engine import run
from elman.cells.highway import RecurrentHighway
from elman.errors import InputError

INPUT, HIDDEN = 2, 3


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_equations(depth: int, build, gates_of, assert_equals_naive) -> None:
    cell, weights = build(RecurrentHighway(INPUT, HIDDEN, depth=depth))
    levels = [gates_of(weights, f"depth{level}", HIDDEN, 2) for level in range(1, depth + 1)]

    def naive(x, state):
        (s,) = state
        for level, (h, t) in enumerate(levels):
            from_input = [x @ h.W.t(), x @ t.W.t()] if level == 0 else [0, 0]
            candidate = torch.tanh(from_input[0] + s @ h.U.t() + h.b)
            transform = torch.sigmoid(from_input[1] + s @ t.U.t() + t.b)
            s = candidate * transform + s * (1 - transform)
        return (s,)

    assert_equals_naive(cell, weights, naive)


def test_the_input_enters_at_the_first_depth_only() -> None:
    shapes = RecurrentHighway(INPUT, HIDDEN, depth=3).shapes()
    assert [name for name in shapes if name.endswith("_input")] == ["depth1_input"]


def test_transform_gates_start_almost_closed() -> None:
    cell = RecurrentHighway(INPUT, HIDDEN, depth=2)
    weights = {name: torch.empty(shape) for name, shape in cell.shapes().items()}
    cell.initialise(weights)
    for name in ("depth1_bias", "depth2_bias"):
        assert (weights[name][HIDDEN:] == -2).all()
        assert (weights[name][:HIDDEN].abs() < 1).all()


def test_trace_has_every_depth(build) -> None:
    cell, weights = build(RecurrentHighway(INPUT, HIDDEN, depth=2))
    trace = run(cell, weights, torch.randn(1, 2, INPUT).double(), trace=True).trace
    kinds = ("candidate", "transform", "hidden")
    assert trace.keys() == {"hidden"} | {f"{k}_depth{level}" for k in kinds for level in (1, 2)}


def test_depth_of_nothing() -> None:
    with pytest.raises(InputError, match="depth of at least 1, not 0"):
        RecurrentHighway(INPUT, HIDDEN, depth=0)
