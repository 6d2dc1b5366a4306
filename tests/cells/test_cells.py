"""Properties of every registered cell."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from elman.cells import CELLS
from elman.cells.cell import Cell, Run
from elman.cells.elman_rnn import ElmanRNN
from elman.cells.engine import run
from elman.cells.lstm import LSTM
from elman.cells.lstm_variants import Mogrifier

BATCH, TIME, INPUT, HIDDEN = 3, 4, 3, 3  # MUT1 and MUT2 want inputs of the hidden size

MAKERS: dict[str, Callable[[], Cell]] = {
    **{name: lambda kind=kind: kind(INPUT, HIDDEN) for name, kind in CELLS.items()},
    "elman sigmoid": lambda: ElmanRNN(INPUT, HIDDEN, "sigmoid"),
    "elman relu": lambda: ElmanRNN(INPUT, HIDDEN, "relu"),
    "lstm two biases": lambda: LSTM(INPUT, HIDDEN, second_bias=True),
    "lstm projection": lambda: LSTM(INPUT, HIDDEN, projection=2, cell_clip=0.9, projection_clip=2),
    "lstm-o projection": lambda: CELLS["lstm-o"](INPUT, HIDDEN, projection=2),
    "highway of depth 1": lambda: CELLS["highway"](INPUT, HIDDEN, depth=1),
    "mogrifier low rank": lambda: Mogrifier(INPUT, HIDDEN, rounds=4, rank=2),
    "mogrifier no rounds": lambda: Mogrifier(INPUT, HIDDEN, rounds=0),
}
Leaves = list[torch.Tensor]


@pytest.fixture(params=MAKERS, ids=lambda name: name.replace(" ", "-"))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def cell(name: str) -> Cell:
    return MAKERS[name]()


@pytest.fixture
def weights(cell: Cell, build: Callable) -> dict[str, torch.Tensor]:
    return build(cell)[1]


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def given(cell: Cell, batch: int = BATCH, time: int = TIME) -> tuple[torch.Tensor, Leaves]:
    return random(batch, time, INPUT), [random(batch, size) for size in cell.state_sizes]


def fuses(cell: Cell) -> bool:
    inputs, state = given(cell)
    weights = {name: random(*shape) for name, shape in cell.shapes().items()}
    return cell.fused(inputs, tuple(state), weights) is not None


FUSING = [name for name, make in MAKERS.items() if fuses(make())]  # on a CPU


def test_the_fast_cells_fuse() -> None:
    fast = {"lstm", "lstm-b", "lstm two biases", "min-gru", "min-lstm"}
    fast |= {"elman", "elman sigmoid", "elman relu", "gru", "torch-gru"}
    assert fast <= set(FUSING)


def everything(result: Run) -> Leaves:
    return [result.outputs, *result.state]


def gradients(result: Run, leaves: Leaves) -> Leaves:
    """Of a sum that weighs every number differently."""
    total = torch.zeros((), dtype=torch.float64)
    for tensor in everything(result):
        total = total + (tensor * torch.linspace(-1, 2, tensor.numel()).view_as(tensor)).sum()
    found = torch.autograd.grad(total, leaves, allow_unused=True, retain_graph=True)
    return [torch.zeros_like(a) if g is None else g for a, g in zip(leaves, found, strict=True)]


def assert_same(ours: Leaves, theirs: Leaves, tolerance: float = 1e-12) -> None:
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


def test_gradients_are_those_of_finite_differences(cell: Cell, weights: Any) -> None:
    inputs, state = given(cell, batch=2, time=3)

    def function(x: torch.Tensor, *rest: torch.Tensor) -> tuple[torch.Tensor, ...]:
        own = dict(zip(weights, rest[len(state) :], strict=True))
        return tuple(everything(run(cell, own, x, rest[: len(state)])))

    assert torch.autograd.gradcheck(function, (inputs, *state, *weights.values()), fast_mode=True)


def test_stepwise_gradients_are_those_of_finite_differences(cell: Cell, weights: Any) -> None:
    inputs, state = given(cell, batch=2, time=2)

    def function(x: torch.Tensor, *rest: torch.Tensor) -> tuple[torch.Tensor, ...]:
        own = dict(zip(weights, rest[len(state) :], strict=True))
        return tuple(everything(run(cell, own, x, rest[: len(state)], fuse=False)))

    assert torch.autograd.gradcheck(function, (inputs, *state, *weights.values()), fast_mode=True)


def test_shapes(cell: Cell, weights: Any) -> None:
    result = run(cell, weights, given(cell)[0])
    assert result.outputs.shape == (BATCH, TIME, cell.state_sizes[0])
    assert [tensor.shape for tensor in result.state] == [(BATCH, n) for n in cell.state_sizes]
    torch.testing.assert_close(result.state[0], result.outputs[:, -1])
    assert result.outputs.dtype == torch.float64
    assert result.trace is None


def test_starts_from_zeros(cell: Cell, weights: Any) -> None:
    inputs, _ = given(cell)
    zeros = tuple(torch.zeros(BATCH, size, dtype=torch.float64) for size in cell.state_sizes)
    assert_same(
        everything(run(cell, weights, inputs)), everything(run(cell, weights, inputs, zeros))
    )


def test_about_is_one_line(cell: Cell) -> None:
    assert cell.about
    assert "\n" not in cell.about


def test_initialise_fills_every_weight(cell: Cell) -> None:
    weights = {name: torch.full(shape, torch.nan) for name, shape in cell.shapes().items()}
    cell.initialise(weights)
    assert all(weight.isfinite().all() for weight in weights.values())


def test_one_run_equals_many_of_one_step(cell: Cell, weights: Any) -> None:
    inputs, state = given(cell)
    whole = run(cell, weights, inputs, tuple(state))
    outputs, now = [], tuple(state)
    for t in range(TIME):
        part = run(cell, weights, inputs[:, t : t + 1], now)
        outputs.append(part.outputs)
        now = part.state
    parts = Run(torch.cat(outputs, dim=1), now)
    assert_same(everything(whole), everything(parts))
    leaves = [inputs, *state, *weights.values()]
    assert_same(gradients(whole, leaves), gradients(parts, leaves))


def test_reverse_equals_flipping(cell: Cell, weights: Any) -> None:
    inputs, state = given(cell)
    leaves = [inputs, *state, *weights.values()]
    flipped = run(cell, weights, inputs.flip(1), tuple(state))
    flipped = Run(flipped.outputs.flip(1), flipped.state)
    for fuse in (True, False):
        backwards = run(cell, weights, inputs, tuple(state), reverse=True, fuse=fuse)
        assert_same(everything(backwards), everything(flipped))
        assert_same(gradients(backwards, leaves), gradients(flipped, leaves))


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
def test_padding_changes_nothing(cell: Cell, weights: Any, reverse: bool) -> None:
    lengths = torch.tensor([TIME, 0, 1, 2])
    inputs, state = given(cell, batch=4)
    padding = torch.arange(TIME)[None, :, None] >= lengths[:, None, None]
    leaves = [inputs, *state, *weights.values()]
    results = []
    for filler in (0.0, 1e30, -1e30):
        padded = torch.where(padding, filler, inputs)
        result = run(cell, weights, padded, tuple(state), lengths=lengths, reverse=reverse)
        results.append([*everything(result), *gradients(result, leaves)])
    assert_same(results[1], results[0])
    assert_same(results[2], results[0])
    assert not results[0][0].masked_select(padding).any()
    # Every row alone, cut to its length, gives the same.
    result = run(cell, weights, inputs, tuple(state), lengths=lengths, reverse=reverse)
    for row, length in enumerate(lengths.tolist()):
        own = tuple(tensor[row : row + 1] for tensor in state)
        alone = run(cell, weights, inputs[row : row + 1, :length], own, reverse=reverse)
        assert_same([result.outputs[row, :length]], [alone.outputs[0]])
        assert_same([tensor[row] for tensor in result.state], [t[0] for t in alone.state])


def test_a_row_does_not_depend_on_its_batch(cell: Cell, weights: Any) -> None:
    inputs, state = given(cell)
    together = run(cell, weights, inputs, tuple(state))
    for row in range(BATCH):
        own = tuple(tensor[row : row + 1] for tensor in state)
        alone = run(cell, weights, inputs[row : row + 1], own)
        assert_same([t[row] for t in everything(together)], [t[0] for t in everything(alone)])


@pytest.mark.parametrize("fuse", [True, False], ids=["fused", "steps"])
def test_every_weight_receives_a_gradient(cell: Cell, weights: Any, fuse: bool) -> None:
    inputs, state = given(cell)
    result = run(cell, weights, inputs, tuple(state), fuse=fuse)
    for weight, gradient in zip(weights, gradients(result, [*weights.values()]), strict=True):
        assert gradient.isfinite().all()
        assert gradient.any(), weight


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize("time", [3, 7, 8], ids=str)
@pytest.mark.parametrize("fusing", FUSING)
def test_fused_equals_steps(fusing: str, time: int, reverse: bool, build: Callable) -> None:
    cell, weights = build(MAKERS[fusing]())
    inputs, state = given(cell, time=time)
    fused = run(cell, weights, inputs, tuple(state), reverse=reverse)
    steps = run(cell, weights, inputs, tuple(state), reverse=reverse, fuse=False)
    assert_same(everything(fused), everything(steps))
    leaves = [inputs, *state, *weights.values()]
    assert_same(gradients(fused, leaves), gradients(steps, leaves))


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
def test_trace(cell: Cell, weights: Any, reverse: bool) -> None:
    inputs, state = given(cell)
    traced = run(cell, weights, inputs, tuple(state), trace=True, reverse=reverse)
    plain = run(cell, weights, inputs, tuple(state), reverse=reverse)
    assert_same(everything(traced), everything(plain))
    assert traced.trace is not None
    torch.testing.assert_close(traced.trace["hidden"], traced.outputs)
    for value in traced.trace.values():
        assert value.ndim == 3
        assert value.shape[:2] == (BATCH, TIME)
    if len(cell.state_sizes) == 2:
        last = 0 if reverse else -1
        torch.testing.assert_close(traced.trace["cell"][:, last], traced.state[1])
