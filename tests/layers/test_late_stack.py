"""Inputs with a part that is known only later: same results as the engine."""

import pytest
import torch

from elman.cells import CELLS
from elman.cells.engine import run
from elman.layers.late_stack import LateInputs, StepSums
from elman.layers.recurrent import Recurrent

ROWS, TIME, SIZE = 3, 4, 6


def weighed(outputs: torch.Tensor) -> torch.Tensor:
    """A sum in which every number counts differently."""
    return (outputs * torch.arange(outputs.numel()).view(outputs.shape)).sum()


@pytest.mark.parametrize("known", [0, 2, SIZE])
@pytest.mark.parametrize("name", CELLS)
def test_outputs_and_gradients_are_those_of_the_engine(name: str, known: int) -> None:
    torch.manual_seed(0)
    recurrent = Recurrent(CELLS[name](SIZE, SIZE)).double()
    inputs = torch.randn(ROWS, TIME, SIZE, dtype=torch.float64, requires_grad=True)
    weights = recurrent.own_weights()
    expected = run(recurrent.cell, weights, inputs, fuse=False).outputs
    leaves = [inputs, *recurrent.parameters()]
    wanted = torch.autograd.grad(weighed(expected), leaves)

    steps = LateInputs(recurrent.cell, weights, inputs[:, :, :known])
    state, outputs = recurrent.start(ROWS), []
    for now in range(TIME):
        late = inputs[:, now, known:] if known < SIZE else None
        state = steps.step(now, late, state)
        outputs.append(state[0])
    found = torch.stack(outputs, dim=1)
    torch.testing.assert_close(found, expected)
    for gradient, right in zip(torch.autograd.grad(weighed(found), leaves), wanted, strict=True):
        torch.testing.assert_close(gradient, right)


def test_sums_by_hand() -> None:
    prepared = torch.tensor([[[1.0, 2.0]], [[3.0, 4.0]]])
    sums = StepSums(prepared, [torch.tensor([[1.0], [10.0]]), None])
    assert sums.at(1, (torch.tensor([[5.0]]), None)).tolist() == [[8.0, 54.0]]
    assert sums.at(0, (torch.tensor([[-1.0]]), prepared)).tolist() == [[0.0, -8.0]]
