"""Tensors of the wrong shape are refused in one line, for every cell."""

import pytest
import torch

from elman.cells import CELLS
from elman.layers.recurrent import Recurrent
from elman.layers.stack import Stack, StackConfig

B, T, SIZE = 3, 5, 4
INPUTS = torch.zeros(B, T, SIZE)


@pytest.fixture(params=CELLS)
def recurrent(request) -> Recurrent:
    return Recurrent(CELLS[request.param](SIZE, SIZE))


def state_of(recurrent: Recurrent, *shape: int) -> tuple[torch.Tensor, ...]:
    return tuple(torch.zeros(shape) for _ in recurrent.cell.state_sizes)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (torch.zeros(B, T, 5), r"inputs of shape \(3, 5, 5\): expected \(batch, time, 4\)"),
        (torch.zeros(T, SIZE), r"inputs of shape \(5, 4\): expected \(batch, time, 4\)"),
        (torch.zeros(B, T, SIZE, dtype=torch.int64), "inputs of type torch.int64: .*not ids"),
    ],
    ids=["size", "no batch", "ids"],
)
def test_inputs(recurrent, inputs, message) -> None:
    with pytest.raises(ValueError, match=message):
        recurrent(inputs)


@pytest.mark.parametrize("shape", [(2, SIZE), (1, SIZE), (B, 5), (B, 1), (1, B, SIZE), (SIZE,)])
def test_a_state_of_another_shape(recurrent, shape) -> None:
    with pytest.raises(ValueError, match=r"state of shapes .*: expected .*\(3, 4\)"):
        recurrent(INPUTS, state_of(recurrent, *shape))


def test_a_state_with_too_few_or_too_many_tensors(recurrent) -> None:
    state = state_of(recurrent, B, SIZE)
    for wrong in (state[1:], (*state, state[0]), state[0]):
        with pytest.raises(ValueError, match="state of shapes"):
            recurrent(INPUTS, wrong)


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        (torch.tensor([5, 6, 1]), "lengths from 1 to 6: must lie between 0 and .* 5"),
        (torch.tensor([5, -1, 1]), "lengths from -1 to 5"),
        (torch.tensor([5.0, 2.5, 1.0]), "lengths: expected a tensor of whole numbers"),
        (torch.ones(B, dtype=torch.bool), "lengths: expected a tensor of whole numbers"),
        ([5, 2, 1], "lengths: expected a tensor of whole numbers"),
        (torch.tensor([5, 2]), r"lengths of shape \(2,\): expected one per row, \(3,\)"),
        (torch.tensor([5]), r"lengths of shape \(1,\)"),
        (torch.tensor([[5], [2], [1]]), r"lengths of shape \(3, 1\)"),
    ],
    ids=str,
)
def test_lengths(recurrent, lengths, message) -> None:
    with pytest.raises(ValueError, match=message):
        recurrent(INPUTS, lengths=lengths)


def test_lengths_up_to_the_last_step_are_fine(recurrent) -> None:
    for kind in (torch.int32, torch.int64):
        run = recurrent(INPUTS, lengths=torch.tensor([T, 0, 1], dtype=kind))
        assert run.outputs.shape == (B, T, SIZE)


def make_stack(**settings) -> Stack:
    return Stack(SIZE, StackConfig(num_layers=2, hidden_size=SIZE, **settings))


@pytest.mark.parametrize("settings", [{"layer_norm": True}, {"dropout_input": 0.5}], ids=str)
def test_a_stack_looks_before_anything_else_does(settings) -> None:
    with pytest.raises(ValueError, match="inputs of shape"):
        make_stack(**settings)(torch.zeros(B, SIZE))


def test_a_state_of_another_stack() -> None:
    stack = make_stack()
    state = stack.start(B)
    with pytest.raises(ValueError, match="state of 1 layers: the stack has 2"):
        stack(INPUTS, state[:1])
    with pytest.raises(ValueError, match="state of 3 layers: the stack has 2"):
        stack(INPUTS, (*state, state[0]))
    with pytest.raises(ValueError, match="state of 2 directions: the layer has 1"):
        stack(INPUTS, make_stack(bidirectional=True).start(B))
