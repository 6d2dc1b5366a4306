"""A stack of layers: shapes, state, connections, lengths and settings."""

import pytest
import torch

from elman.cells import CELLS
from elman.config import as_data, build
from elman.errors import InputError
from elman.layers.layer import CONNECTIONS
from elman.layers.stack import Stack, StackConfig
from elman.state import detach, select, tensors

B, T, I = 3, 6, 4  # noqa: E741  # batch, time, input size: those of the fixtures


# --- Shapes and state


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("both", [False, True])
def test_shapes(cell, both, make_stack, make_inputs) -> None:
    layers, directions = (1, 2) if both else (2, 1)  # some cells need inputs of their own size
    stack = make_stack(cell=cell, num_layers=layers, bidirectional=both)
    run = stack(make_inputs())
    assert run.outputs.shape == (B, T, stack.output_size) == (B, T, directions * I)
    assert len(run.state) == len(run.layers) == layers
    assert all(len(layer) == directions for layer in run.state)
    assert all(tensor.shape[0] == B for tensor in tensors(run.state))
    start = tensors(stack.start(B))
    assert [t.shape for t in start] == [t.shape for t in tensors(run.state)]
    assert run.trace is None


def test_sizes_of_awd_lstm() -> None:
    stack = Stack(40, StackConfig(num_layers=3, hidden_size=(115, 115, 40), weight_drop=0.5))
    assert [tuple(run.shape) for run in stack(torch.randn(2, 5, 40)).layers] == [
        (2, 5, 115),
        (2, 5, 115),
        (2, 5, 40),
    ]


@pytest.mark.parametrize(
    ("cell", "connection"),
    [(cell, "residual") for cell in CELLS] + [("lstm", connection) for connection in CONNECTIONS],
)
def test_two_halves_are_the_whole(cell, connection, make_stack, make_inputs) -> None:
    stack, inputs = make_stack(cell=cell, connection=connection, layer_norm=True), make_inputs()
    whole = stack(inputs)
    first = stack(inputs[:, :2])
    second = stack(inputs[:, 2:], detach(first.state))
    torch.testing.assert_close(torch.cat([first.outputs, second.outputs], 1), whole.outputs)
    for ours, theirs in zip(tensors(second.state), tensors(whole.state), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_start_is_what_no_state_means(make_stack, make_inputs) -> None:
    stack, inputs = make_stack(cell="lstm"), make_inputs()
    assert torch.equal(stack(inputs, stack.start(B)).outputs, stack(inputs).outputs)


def test_select_picks_rows(make_stack, make_inputs) -> None:
    stack, inputs = make_stack(cell="lstm"), make_inputs()
    state = stack(make_inputs()).state
    rows = torch.tensor([2, 0, 2])
    picked = stack(inputs[rows], select(state, rows)).outputs
    torch.testing.assert_close(picked, stack(inputs, state).outputs[rows])


def test_no_time_at_all(make_stack, make_inputs) -> None:
    stack = make_stack(connection="dense")
    run = stack(make_inputs(0))
    assert run.outputs.shape == (B, 0, stack.output_size)
    assert all(tensor.eq(0).all() for tensor in tensors(run.state))


def test_trace_is_per_layer_and_direction(make_stack, make_inputs) -> None:
    run = make_stack(bidirectional=True, cell="lstm")(make_inputs(), trace=True)
    assert [len(layer) for layer in run.trace] == [2, 2]
    assert run.trace[0][1]["forget"].shape == (B, T, I)
    torch.testing.assert_close(run.trace[1][0]["hidden"], run.outputs[:, :, :I])
    torch.testing.assert_close(run.trace[1][1]["hidden"], run.outputs[:, :, I:])


def test_directions_have_weights_of_their_own(make_stack) -> None:
    one, other = (
        each.own_weights() for each in make_stack(bidirectional=True).layers[0].directions
    )
    assert all(not torch.equal(one[name], other[name]) for name in one)


def test_only_the_second_direction_sees_the_future(make_stack, make_inputs) -> None:
    stack, inputs = make_stack(bidirectional=True, num_layers=1), make_inputs()
    before = stack(inputs).outputs
    inputs[:, -1] += 1
    after = stack(inputs).outputs
    assert torch.equal(before[:, 0, :I], after[:, 0, :I])
    assert not torch.equal(before[:, 0, I:], after[:, 0, I:])


# --- Connections and lengths


@pytest.mark.parametrize("more", [{}, {"layer_norm": True}, {"weight_drop": 0.5}], ids=str)
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("connection", CONNECTIONS)
def test_every_parameter_receives_a_gradient(
    connection, both, more, make_stack, make_inputs
) -> None:
    settings = {"hidden_size": I // 2 if both else I, "num_layers": 3, "cell": "lstm"} | more
    stack = make_stack(connection=connection, bidirectional=both, **settings)
    (stack(make_inputs()).outputs * torch.randn(stack.output_size)).sum().backward()
    for name, parameter in stack.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.ne(0).any(), name


def test_residual_by_hand(make_stack, make_inputs) -> None:
    stack, inputs = make_stack(connection="residual"), make_inputs()
    first, second = (layer.directions[0] for layer in stack.layers)
    middle = inputs + first(inputs).outputs
    torch.testing.assert_close(stack(inputs).outputs, middle + second(middle).outputs)


def test_dense_by_hand(make_stack, make_inputs) -> None:
    stack, inputs = make_stack(connection="dense", hidden_size=(3, 5)), make_inputs()
    first, second = (layer.directions[0] for layer in stack.layers)
    middle = torch.cat([inputs, first(inputs).outputs], dim=2)
    expected = torch.cat([middle, second(middle).outputs], dim=2)
    assert stack.output_size == I + 3 + 5
    torch.testing.assert_close(stack(inputs).outputs, expected)


def test_layer_norm_by_hand(make_stack, make_inputs) -> None:
    stack, inputs = make_stack(layer_norm=True, num_layers=1), make_inputs()
    centred = inputs - inputs.mean(dim=2, keepdim=True)
    normal = centred / (centred.square().mean(dim=2, keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(stack(inputs).outputs, stack.layers[0].directions[0](normal).outputs)


@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("connection", CONNECTIONS)
def test_nothing_beyond_the_lengths_counts(connection, layer_norm, make_stack, make_inputs) -> None:
    stack = make_stack(
        connection=connection, bidirectional=True, hidden_size=I // 2, layer_norm=layer_norm
    )
    inputs, lengths = make_inputs(), torch.tensor([T, 2, 0])
    run = stack(inputs, lengths=lengths)
    assert run.outputs[1, 2:].eq(0).all()
    assert run.outputs[2].eq(0).all()
    torch.testing.assert_close(run.outputs[1:2, :2], stack(inputs[1:2, :2]).outputs)
    torch.testing.assert_close(run.outputs[:1], stack(inputs[:1]).outputs)


# --- Zoneout and settings


def test_zoneout_is_handed_to_every_layer(make_stack, make_inputs) -> None:
    stack = make_stack(cell="lstm", zoneout=(0.25, 0.5), bidirectional=True)
    rates = [each.zoneout for layer in stack.layers for each in layer.directions]
    assert rates == [(0.25, 0.5)] * 4
    inputs = make_inputs()
    assert not torch.equal(stack(inputs).outputs, stack(inputs).outputs)
    stack.eval()
    assert torch.equal(stack(inputs).outputs, stack(inputs).outputs)


def test_options_are_handed_to_the_cell(make_stack, make_inputs) -> None:
    assert make_stack(options={"activation": "relu"})(make_inputs()).outputs.ge(0).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cell": "lstn"}, "unknown cell 'lstn'; did you mean 'lstm'"),
        ({"connection": "residul"}, "unknown connection 'residul'; did you mean 'residual'"),
        ({"options": {"forget_bais": 1}}, "unknown option 'forget_bais'.*'forget_bias'"),
        ({"cell": "gru", "options": {"clip": 1}}, "unknown option 'clip'.*'gru'; it has none"),
        ({"num_layers": 0}, "num_layers=0: must be at least 1"),
        ({"hidden_size": 0}, "hidden_size=0: must be at least 1"),
        ({"num_layers": 2, "hidden_size": (3,)}, r"hidden_size=\[3\]: num_layers=2"),
        ({"dropout_input": 1.0}, "dropout_input=1.0: must be from 0 to below 1"),
        ({"dropout_hidden": -0.5}, "dropout_hidden=-0.5"),
        ({"dropout_output": 1.5}, "dropout_output=1.5"),
        ({"weight_drop": 1.5}, "weight_drop=1.5"),
        ({"dropout_input": "0.5"}, "dropout_input='0.5': expected a number$"),
        ({"num_layers": "2"}, "num_layers='2': expected a whole number$"),
        ({"hidden_size": 2.5}, "hidden_size=2.5: expected a whole number or a list"),
        ({"bidirectional": "yes"}, "bidirectional='yes': expected true or false$"),
        ({"cell": None}, "cell=None: expected a word$"),
        ({"options": None}, "options=None: expected a section like {name = value}$"),
        ({"options": {"forget_bias": "1"}}, "options.forget_bias='1': expected a number$"),
        ({"zoneout": "x"}, "zoneout='x': expected a number or a list"),
    ],
)
def test_bad_settings_are_refused(settings, message) -> None:
    with pytest.raises(InputError, match=message):
        StackConfig(**settings)


@pytest.mark.parametrize("input_size", [0, -1])
def test_a_stack_reads_something(input_size) -> None:
    with pytest.raises(InputError, match=f"input_size={input_size}: must be at least 1"):
        Stack(input_size, StackConfig())


def test_options_become_what_the_cell_declares() -> None:
    config = StackConfig(options={"forget_bias": 1})
    assert type(config.options["forget_bias"]) is float


def test_lists_are_as_good_as_tuples() -> None:
    config = StackConfig(num_layers=2, hidden_size=[3, 4], zoneout=[0.1, 0.2])
    assert config == StackConfig(num_layers=2, hidden_size=(3, 4), zoneout=(0.1, 0.2))


def test_residual_needs_equal_sizes(make_stack) -> None:
    with pytest.raises(InputError, match="reads 4 and gives 8"):
        make_stack(connection="residual", bidirectional=True)


def test_settings_from_plain_data() -> None:
    config = build(StackConfig, {"num_layers": 2, "hidden_size": [3, 4], "zoneout": 0}, "stack")
    assert config.sizes() == (3, 4)
    assert build(StackConfig, as_data(config), "stack") == config
