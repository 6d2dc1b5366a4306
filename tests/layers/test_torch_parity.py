"""Stacks give what nn.RNN, nn.LSTM and nn.GRU give: outputs, states and every gradient."""

import pytest
import torch
from torch import nn

from elman.errors import InputError
from elman.layers.recurrent import Recurrent, from_torch
from elman.layers.stack import Stack, StackConfig
from elman.state import State, tensors

CLOSE = {"rtol": 0, "atol": 1e-12}
BATCH, TIME, INPUTS, HIDDEN = 4, 5, 3, 6
MODULES = {"elman": nn.RNN, "lstm": nn.LSTM, "torch-gru": nn.GRU}
LENGTHS = {
    "no lengths": None,
    "lengths": [5, 1, 3, 2],
    "a length of 0": [4, 0, 5, 1],
}


def make_pair(cell: str, layers: int, both: bool) -> tuple[nn.RNNBase, Stack]:
    torch.manual_seed(1)
    module = MODULES[cell](
        INPUTS, HIDDEN, layers, batch_first=True, bidirectional=both, dtype=torch.float64
    )
    config = StackConfig(cell=cell, num_layers=layers, hidden_size=HIDDEN, bidirectional=both)
    stack = Stack(INPUTS, config).double()
    for number, layer in enumerate(stack.layers):
        for direction, recurrent in enumerate(layer.directions):
            same = from_torch(module, number, reverse=direction == 1)
            recurrent.load_state_dict(same.state_dict())
    return module, stack


def to_stack_state(state: tuple[torch.Tensor, ...], layers: int, both: bool) -> State:
    """PyTorch's (layers * directions, B, H) tensors as a nested, batch first tuple."""
    directions = 2 if both else 1
    return tuple(
        tuple(tuple(part[layer * directions + d] for part in state) for d in range(directions))
        for layer in range(layers)
    )


def run_torch(module, inputs, state, lengths):
    """Outputs, final state as a tuple; rows of length 0, which PyTorch refuses, left out."""
    given = state if state is None or isinstance(module, nn.LSTM) else state[0]
    if lengths is None:
        outputs, final = module(inputs, given)
    else:
        packed = nn.utils.rnn.pack_padded_sequence(
            inputs, lengths, batch_first=True, enforce_sorted=False
        )
        packed_outputs, final = module(packed, given)
        outputs, _ = nn.utils.rnn.pad_packed_sequence(
            packed_outputs, batch_first=True, total_length=TIME
        )
    return outputs, final if isinstance(final, tuple) else (final,)


def expected_gradients(module: nn.RNNBase, layer: int, direction: int) -> dict[str, torch.Tensor]:
    """PyTorch's gradients under the names that the cells use."""
    suffix = f"_l{layer}" + ("_reverse" if direction else "")
    weight_ih, weight_hh, bias_ih, bias_hh = (
        getattr(module, name + suffix).grad
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    if isinstance(module, nn.GRU):
        size = 2 * HIDDEN
        return {
            "gates_input": weight_ih[:size],
            "gates_state": weight_hh,
            "gates_bias": bias_hh,
            "candidate_input": weight_ih[size:],
            "candidate_bias": bias_ih[size:],
        }
    product = "gates" if isinstance(module, nn.LSTM) else "hidden"
    return {
        f"{product}_input": weight_ih,
        f"{product}_state": weight_hh,
        f"{product}_bias": bias_ih,
    }


def make_inputs(module: nn.RNNBase, with_state: bool, rows: list[int]):
    """Inputs and states for both, with the same values and gradients of their own."""
    directions = 2 if module.bidirectional else 1
    shape = (module.num_layers * directions, BATCH, HIDDEN)
    inputs = torch.randn(BATCH, TIME, INPUTS, dtype=torch.float64)
    parts = 2 if isinstance(module, nn.LSTM) else 1
    state = tuple(torch.randn(shape, dtype=torch.float64) for _ in range(parts))
    ours = inputs.clone().requires_grad_(), tuple(s.clone().requires_grad_() for s in state)
    theirs = (
        inputs[rows].requires_grad_(),
        tuple(s[:, rows].contiguous().requires_grad_() for s in state),
    )
    return (ours, theirs) if with_state else ((ours[0], None), (theirs[0], None))


@pytest.mark.parametrize("trace", [False, True], ids=["fused", "steps"])
@pytest.mark.parametrize("with_state", [False, True], ids=["no state", "state"])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
@pytest.mark.parametrize("both", [False, True], ids=["one way", "both ways"])
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("cell", MODULES)
def test_values_and_gradients(cell, layers, both, lengths, with_state, trace) -> None:
    module, stack = make_pair(cell, layers, both)
    rows = [row for row in range(BATCH) if lengths is None or lengths[row]]
    (inputs, state), (their_inputs, their_state) = make_inputs(module, with_state, rows)
    run = stack(
        inputs,
        None if state is None else to_stack_state(state, layers, both),
        lengths=None if lengths is None else torch.tensor(lengths),
        trace=trace,
    )
    outputs, final = run_torch(
        module, their_inputs, their_state, None if lengths is None else [lengths[r] for r in rows]
    )

    torch.testing.assert_close(run.outputs[rows], outputs, **CLOSE)
    expected = tensors(to_stack_state(final, layers, both))
    for ours, theirs in zip(tensors(run.state), expected, strict=True):
        torch.testing.assert_close(ours[rows], theirs, **CLOSE)

    weighting = torch.randn(BATCH, TIME, outputs.shape[2], dtype=torch.float64)
    state_weightings = [torch.randn_like(tensor) for tensor in tensors(run.state)]
    loss = (run.outputs * weighting)[rows].sum()
    their_loss = (outputs * weighting[rows]).sum()
    for ours, theirs, each in zip(tensors(run.state), expected, state_weightings, strict=True):
        loss = loss + (ours * each)[rows].sum()
        their_loss = their_loss + (theirs * each[rows]).sum()
    loss.backward()
    their_loss.backward()

    torch.testing.assert_close(inputs.grad[rows], their_inputs.grad, **CLOSE)
    for ours, theirs in zip(state or (), their_state or (), strict=True):
        torch.testing.assert_close(ours.grad[:, rows], theirs.grad, **CLOSE)
    for number, layer in enumerate(stack.layers):
        for direction, recurrent in enumerate(layer.directions):
            wanted = expected_gradients(module, number, direction)
            assert wanted.keys() == recurrent.own_weights().keys()
            for name, weight in recurrent.own_weights().items():
                torch.testing.assert_close(weight.grad, wanted[name], **CLOSE)


@pytest.mark.parametrize("both", [False, True], ids=["one way", "both ways"])
@pytest.mark.parametrize("cell", MODULES)
def test_a_row_of_length_0_gives_zeros_and_keeps_its_state(cell, both) -> None:
    module, stack = make_pair(cell, 2, both)
    (inputs, state), _ = make_inputs(module, True, [0])
    before = to_stack_state(state, 2, both)
    run = stack(inputs, before, lengths=torch.tensor([4, 0, 5, 1]))
    assert run.outputs[1].eq(0).all()
    for old, new in zip(tensors(before), tensors(run.state), strict=True):
        assert torch.equal(old[1], new[1])
        assert not torch.equal(old[0], new[0])
    run.outputs.sum().backward()
    assert inputs.grad[1].eq(0).all()
    assert not inputs.grad[0].eq(0).all()


def test_projection() -> None:
    module = nn.LSTM(INPUTS, HIDDEN, batch_first=True, proj_size=2, dtype=torch.float64)
    recurrent = from_torch(module)
    inputs = torch.randn(BATCH, TIME, INPUTS, dtype=torch.float64)
    outputs, (hidden, memory) = module(inputs)
    run = recurrent(inputs)
    assert recurrent.output_size == 2
    torch.testing.assert_close(run.outputs, outputs, **CLOSE)
    torch.testing.assert_close(run.state, (hidden[0], memory[0]), **CLOSE)


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_modules_without_biases(kind) -> None:
    module = kind(INPUTS, HIDDEN, batch_first=True, bias=False, dtype=torch.float64)
    inputs = torch.randn(BATCH, TIME, INPUTS, dtype=torch.float64)
    torch.testing.assert_close(from_torch(module)(inputs).outputs, module(inputs)[0], **CLOSE)


def test_relu() -> None:
    module = nn.RNN(INPUTS, HIDDEN, nonlinearity="relu", batch_first=True, dtype=torch.float64)
    inputs = torch.randn(BATCH, TIME, INPUTS, dtype=torch.float64)
    torch.testing.assert_close(from_torch(module)(inputs).outputs, module(inputs)[0], **CLOSE)


def test_weights_are_copied_not_shared() -> None:
    module = nn.RNN(INPUTS, HIDDEN)
    recurrent = from_torch(module)
    assert isinstance(recurrent, Recurrent)
    with torch.no_grad():
        module.weight_hh_l0.zero_()
    assert recurrent.own_weights()["hidden_state"].ne(0).any()


def test_a_layer_that_is_not_there() -> None:
    with pytest.raises(InputError, match="RNN has no weights that end in '_l1_reverse'"):
        from_torch(nn.RNN(INPUTS, HIDDEN), layer=1, reverse=True)


def test_another_module_is_refused() -> None:
    class Other(nn.RNNBase):
        pass

    with pytest.raises(TypeError, match="expected an nn.RNN, nn.LSTM or nn.GRU, not Other"):
        from_torch(Other("LSTM", INPUTS, HIDDEN))
