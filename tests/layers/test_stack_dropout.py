"""Dropout in a stack: where and when."""

import pytest
import torch

from elman.errors import InputError
from elman.layers.stack import Stack

B, T, I = 3, 6, 4  # noqa: E741  # batch, time, input size: those of the fixtures


# --- Dropout


DROPPING = {"dropout_input": 0.5, "dropout_hidden": 0.5, "dropout_output": 0.5}


@pytest.mark.parametrize("locked", [False, True])
def test_nothing_is_dropped_in_evaluation(locked, make_stack, make_inputs) -> None:
    stack, inputs = make_stack(**DROPPING, weight_drop=0.5, locked=locked), make_inputs()
    plain = make_stack()
    plain.load_state_dict(stack.state_dict())
    assert not torch.equal(stack(inputs).outputs, plain(inputs).outputs)
    stack.eval()
    assert torch.equal(stack(inputs).outputs, plain(inputs).outputs)


@pytest.mark.parametrize("locked", [False, True])
def test_output_dropout(locked, make_stack, make_inputs) -> None:
    run = make_stack(hidden_size=50, dropout_output=0.5, locked=locked)(make_inputs())
    gone = run.outputs.eq(0)
    torch.testing.assert_close(run.outputs[~gone], 2 * run.raw_outputs[~gone])
    assert run.raw_outputs.ne(0).all()
    assert run.raw_outputs is run.layers[-1]
    assert torch.equal(gone, gone[:, :1].expand_as(gone)) is locked
    assert not torch.equal(gone[0], gone[1])


def watch_inputs(stack: Stack, inputs: torch.Tensor) -> list[torch.Tensor]:
    """What entered the cells of each layer."""
    entered: list[torch.Tensor] = []
    for layer in stack.layers:
        layer.directions[0].register_forward_pre_hook(lambda _, given: entered.append(given[0]))
    stack(inputs)
    return entered


def test_each_rate_has_its_place(make_stack) -> None:
    inputs = torch.rand(B, T, I, dtype=torch.float64) + 1
    first, second, third = watch_inputs(make_stack(num_layers=3, dropout_input=0.5), inputs)
    assert first.eq(0).any()
    assert second.ne(0).all()
    first, second, third = watch_inputs(make_stack(num_layers=3, dropout_hidden=0.5), inputs)
    assert first.ne(0).all()
    assert second.eq(0).any()
    assert third.eq(0).any()


def test_the_way_around_is_not_dropped(make_stack, make_inputs) -> None:
    stack, inputs = (
        make_stack(connection="residual", num_layers=1, dropout_input=0.9),
        make_inputs(),
    )
    for weight in stack.parameters():
        torch.nn.init.zeros_(weight)
    torch.testing.assert_close(stack(inputs).outputs, inputs)


# --- Weight-drop


@pytest.mark.parametrize("cell", ["elman", "lstm", "gru", "torch-gru"])
def test_weight_drop_is_drawn_once_per_call(cell, make_stack, make_inputs) -> None:
    stack, inputs = make_stack(cell=cell, weight_drop=0.5), make_inputs()
    before = {name: value.clone() for name, value in stack.state_dict().items()}
    assert not torch.equal(stack(inputs).outputs, stack(inputs).outputs)
    assert all(torch.equal(before[name], value) for name, value in stack.state_dict().items())


def test_weight_drop_leaves_one_step_from_nothing_alone(make_stack, make_inputs) -> None:
    """Only recurrent weights are dropped, and a first step from zeros does not use them."""
    stack, inputs = make_stack(weight_drop=0.9), make_inputs(1)
    assert torch.equal(stack(inputs).outputs, stack(inputs).outputs)


@pytest.mark.parametrize("cell", ["elman", "lstm"])
def test_gradients_reach_the_raw_weights_and_not_the_dropped_ones(
    cell, make_stack, make_inputs
) -> None:
    stack = make_stack(cell=cell, weight_drop=0.5, num_layers=1)
    stack(make_inputs()).outputs.sum().backward()
    (name,) = stack.layers[0].directions[0].recurrent_names()
    gradient = stack.layers[0].directions[0].own_weights()[name].grad
    untouched = gradient.eq(0)
    assert 0 < untouched.sum() < gradient.numel()
    assert 0.2 < untouched.double().mean() < 0.8


def test_the_same_connections_are_missing_at_every_step(make_stack, make_inputs) -> None:
    """A unit that only copies itself, h_t = U h_{t-1}, either lasts or dies at once."""
    stack = make_stack(
        num_layers=1, hidden_size=200, options={"activation": "relu"}, weight_drop=0.5
    )
    weights = stack.layers[0].directions[0].own_weights()
    with torch.no_grad():
        for weight in weights.values():
            weight.zero_()
        weights["hidden_state"].copy_(0.5 * torch.eye(200))  # doubled where it stays
    state = ((((torch.ones(B, 200, dtype=torch.float64)),),),)
    outputs = stack(make_inputs(), state).outputs  # (B, T, 200)
    assert set(outputs.unique().tolist()) == {0.0, 1.0}
    assert torch.equal(outputs, outputs[:1, :1].expand_as(outputs))


def test_weight_drop_needs_recurrent_weights(make_stack) -> None:
    with pytest.raises(InputError, match="weight_drop=0.5: the cell 'min-gru' has no recurrent"):
        make_stack(cell="min-gru", weight_drop=0.5)
