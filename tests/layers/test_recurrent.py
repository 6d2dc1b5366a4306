import pytest
import torch

from elman.cells.cell import Cell, Product, States, Step
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


class OneProduct(Cell):
    """h_t = tanh of the first units of a product."""

    def __init__(self, product: Product) -> None:
        super().__init__(3, 4)
        self.products = {"gates": product}

    def step(self, step: Step, state: States) -> States:
        return (torch.tanh(step.product("gates", state[0])[:, :4]) + 0 * state[0],)


@pytest.mark.parametrize(
    ("product", "message"),
    [
        (Product(8, 4, 4), "8 rows, but only 4 input rows: .* or partial=True"),
        (Product(4, 1, 4), "4 rows, but only 1 input rows: .* or partial=True"),
        (Product(1, 1, 4), r"1 rows: expected a multiple of hidden_size \(4\), .* shared=True"),
        (Product(5, 0, 4), "5 rows: expected a multiple"),
    ],
    ids=["half of the gates", "one input row", "one row", "five rows"],
)
def test_a_product_with_too_few_rows_is_refused(product: Product, message: str) -> None:
    with pytest.raises(ValueError, match=f"^OneProduct: the product 'gates' has {message}"):
        Recurrent(OneProduct(product))


@pytest.mark.parametrize(
    "product",
    [Product(8, 4, 4, partial=True), Product(1, 1, 4, shared=True), Product(8, 8, 4)],
    ids=["partial", "shared", "whole"],
)
def test_fewer_rows_run_if_they_are_meant(product: Product) -> None:
    assert Recurrent(OneProduct(product))(torch.randn(2, 5, 3)).outputs.shape == (2, 5, 4)
