"""Cells whose way back is written out for whole sequences give what their steps give.

That they do in plain cases, and against finite differences, is in `test_cells.py`; here are the
cases that a written-out gradient can forget.
"""

from collections.abc import Callable

import pytest
import torch

from elman.cells import CELLS, products
from elman.cells.cell import Cell, Run, States
from elman.cells.engine import run
from elman.cells.lstm import LSTM
from elman.cells.products import Packed

SIZE = 3
Weights = dict[str, torch.Tensor]
Case = tuple[Cell, Weights, torch.Tensor, States]
MAKERS: dict[str, Callable[[], Cell]] = {
    **{name: lambda name=name: CELLS[name](SIZE, SIZE) for name in ("elman", "gru", "torch-gru")},
    "projected": lambda: LSTM(SIZE, SIZE, projection=2),
    "clipped": lambda: LSTM(SIZE, SIZE, cell_clip=0.5),
    "both": lambda: LSTM(SIZE, SIZE, projection=2, cell_clip=0.5, projection_clip=0.3),
}


@pytest.fixture(params=MAKERS)
def case(request: pytest.FixtureRequest, build: Callable) -> Case:
    """A cell, its weights, inputs and the state before them."""
    cell, weights = build(MAKERS[request.param]())
    inputs = torch.randn(4, 5, SIZE, dtype=torch.float64, requires_grad=True)
    start = [
        torch.randn(4, size, dtype=torch.float64, requires_grad=True) for size in cell.state_sizes
    ]
    return cell, weights, inputs, tuple(start)


def detached(start: States) -> States:
    return tuple(part.detach() for part in start)


def assert_same_gradients(case: Case, loss: Callable[[Run], torch.Tensor]) -> None:
    """Of a loss of the run, with respect to whatever wants one; fused against steps."""
    cell, weights, inputs, start = case
    leaves = [leaf for leaf in (inputs, *start, *weights.values()) if leaf.requires_grad]
    fused, steps = (
        torch.autograd.grad(loss(run(cell, weights, inputs, start, fuse=fuse)), leaves)
        for fuse in (True, False)
    )
    for one, other in zip(fused, steps, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def both(result: Run) -> torch.Tensor:
    return result.outputs.square().sum() + sum(part.pow(3).sum() for part in result.state)


@pytest.mark.parametrize(
    "loss",
    [
        lambda result: result.state[-1].square().sum(),
        lambda result: result.outputs[:, 1].square().sum(),
        lambda result: result.outputs.sum(),  # its gradient is one number, expanded
        both,
    ],
    ids=["final state", "one step", "sum", "both"],
)
def test_gradients_from_wherever_the_loss_looks(case: Case, loss: Callable) -> None:
    assert_same_gradients(case, loss)


def test_one_weight_alone_is_trained(case: Case) -> None:
    cell, weights, inputs, start = case
    for name in weights:
        alone = {key: weight.detach() for key, weight in weights.items()}
        alone[name].requires_grad_()
        assert_same_gradients((cell, alone, inputs.detach(), detached(start)), both)


def test_no_weight_is_trained(case: Case) -> None:
    cell, weights, inputs, start = case
    fixed = {name: weight.detach() for name, weight in weights.items()}
    assert_same_gradients((cell, fixed, inputs, detached(start)), both)
    assert_same_gradients((cell, fixed, inputs.detach(), start), both)
    assert not run(cell, fixed, inputs.detach()).outputs.requires_grad


def test_weights_that_were_computed(case: Case) -> None:
    cell, weights, inputs, start = case
    leaves = list(weights.values())
    found = []
    for fuse in (True, False):
        masked = {name: weight * weight.detach().gt(0) for name, weight in weights.items()}
        result = run(cell, masked, inputs, start, fuse=fuse)
        found.append(torch.autograd.grad(both(result), leaves))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_tensors_of_any_layout(case: Case) -> None:
    cell, weights, _, start = case
    inputs = torch.randn(SIZE, 5, 4, dtype=torch.float64).permute(2, 1, 0).requires_grad_()
    expanded_start = tuple(part[0].expand(4, -1) for part in start)
    turned = {
        name: (weight.detach().t().contiguous().t() if weight.ndim == 2 else weight.detach())
        for name, weight in weights.items()
    }
    for weight in turned.values():
        weight.requires_grad_()
    assert_same_gradients((cell, turned, inputs, start), both)
    expanded = run(cell, turned, inputs, expanded_start)
    steps = run(cell, turned, inputs, expanded_start, fuse=False)
    torch.testing.assert_close(expanded.outputs, steps.outputs, rtol=1e-12, atol=1e-12)


def test_a_gradient_can_be_asked_for_twice(case: Case) -> None:
    cell, weights, inputs, start = case
    loss = both(run(cell, weights, inputs, start))
    leaves = [inputs, *start, *weights.values()]
    first = torch.autograd.grad(loss, leaves, retain_graph=True)
    for one, other in zip(first, torch.autograd.grad(loss, leaves), strict=True):
        assert torch.equal(one, other)


def test_a_second_derivative_is_refused(case: Case) -> None:
    cell, weights, inputs, _ = case
    outputs = run(cell, weights, inputs).outputs
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(outputs.square().sum(), inputs, create_graph=True)


def test_weights_changed_before_the_way_back_are_noticed(case: Case) -> None:
    cell, weights, inputs, _ = case
    loss = both(run(cell, weights, inputs))
    name = next(name for name in weights if name.endswith("_state"))
    with torch.no_grad():
        weights[name].mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_outputs_changed_before_the_way_back_are_noticed(case: Case) -> None:
    cell, weights, inputs, _ = case
    outputs = run(cell, weights, inputs).outputs
    loss = outputs.sum()
    outputs.detach().mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_the_start_is_left_as_it_was(case: Case) -> None:
    cell, weights, inputs, start = case
    kept = [tensor.detach().clone() for tensor in (inputs, *start, *weights.values())]
    both(run(cell, weights, inputs, start)).backward()
    for tensor, before in zip((inputs, *start, *weights.values()), kept, strict=True):
        assert torch.equal(tensor, before)


@pytest.mark.parametrize("fewest_back", [1, 10**9])
def test_packed(case: Case, fewest_back: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cell, weights, _, _ = case
    monkeypatch.setattr(products, "onednn_is_faster", lambda: False)
    monkeypatch.setattr(products, "_FEWEST_WEIGHTS", 1)
    monkeypatch.setattr(products, "_FEWEST_WEIGHTS_BACK", fewest_back)
    used = []
    forward = Packed.forward
    monkeypatch.setattr(
        Packed, "forward", lambda self, *given: used.append(self) or forward(self, *given)
    )
    single = {name: weight.detach().float().requires_grad_() for name, weight in weights.items()}
    inputs = torch.randn(4, 9, SIZE)
    leaves = list(single.values())
    ours = torch.autograd.grad(both(run(cell, single, inputs)), leaves)
    assert used
    exact = torch.autograd.grad(both(run(cell, weights, inputs.double())), list(weights.values()))
    for one, other in zip(ours, exact, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-4, atol=1e-4)
