import torch

from elman.cells.lstm import LSTM
from elman.layers.recurrent import Recurrent


def make() -> Recurrent:
    torch.manual_seed(0)
    return Recurrent(LSTM(3, 4, forget_bias=5.0)).double()


def test_parameters_have_the_names_and_shapes_of_the_cell() -> None:
    recurrent = make()
    shapes = {name: tuple(weight.shape) for name, weight in recurrent.named_parameters()}
    assert shapes == {
        "weights.gates_input": (16, 3),
        "weights.gates_state": (16, 4),
        "weights.gates_bias": (16,),
    }


def test_weights_are_initialised_by_the_cell() -> None:
    weights = make().own_weights()
    assert weights["gates_bias"][4:8].gt(4).all()  # forget gate: 5 ± 1/√4
    assert weights["gates_state"].abs().max() <= 0.5


def test_start_is_zeros_of_the_weights_type() -> None:
    hidden, memory = make().start(2)
    assert hidden.shape == memory.shape == (2, 4)
    assert hidden.dtype == torch.float64
    assert hidden.eq(0).all()


def test_given_weights_are_used_and_nothing_is_kept() -> None:
    recurrent, inputs = make(), torch.randn(2, 5, 3, dtype=torch.float64)
    before = recurrent(inputs).outputs
    zeros = {name: torch.zeros_like(weight) for name, weight in recurrent.own_weights().items()}
    assert recurrent(inputs, weights=zeros).outputs.eq(0).all()
    assert torch.equal(recurrent(inputs).outputs, before)


def test_reverse_reads_from_the_last_token_of_each_row() -> None:
    recurrent, inputs = make(), torch.randn(2, 5, 3, dtype=torch.float64)
    run = recurrent(inputs, lengths=torch.tensor([5, 2]), reverse=True)
    alone = recurrent(inputs[1:, :2].flip(1))
    torch.testing.assert_close(run.outputs[1:, :2], alone.outputs.flip(1))
    torch.testing.assert_close(run.state[0][1:], alone.state[0])


def test_trace_names_gates() -> None:
    run = make()(torch.randn(2, 5, 3, dtype=torch.float64), trace=True)
    assert run.trace["forget"].shape == (2, 5, 4)


def test_recurrent_names() -> None:
    assert make().recurrent_names() == ["gates_state"]
