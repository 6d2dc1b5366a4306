"""The numpy cells against the torch cells, and against numerical differentiation without torch."""

import numpy as np
import pytest
import torch

from elman.cells import CELLS
from elman.cells.by_hand import (
    BY_HAND,
    ELMAN,
    Array,
    Forward,
    Gradients,
    States,
    backward,
    clip_by_norm,
    forward,
    jacobian_norms,
    sigmoid,
)
from elman.cells.cell import Cell
from elman.cells.engine import run
from elman.cells.lstm import LSTM

SHAPES = [(3, 5, 4, 6), (1, 4, 3, 2), (2, 1, 2, 3), (1, 1, 1, 1), (2, 7, 5, 5), (2, 0, 3, 4)]
EXACT = {"rtol": 0, "atol": 1e-10}


class Case:
    """Random numbers for one cell, and a loss that is linear in all that comes out of it."""

    def __init__(self, cell: Cell, batch_size: int, time: int) -> None:
        random = np.random.default_rng(7)
        self.weights = {name: random.normal(size=shape) for name, shape in cell.shapes().items()}
        self.inputs = random.normal(size=(batch_size, time, cell.input_size))
        sizes = cell.state_sizes
        self.state = tuple(random.normal(size=(batch_size, size)) for size in sizes)
        self.d_outputs = random.normal(size=(batch_size, time, sizes[0]))
        self.d_state = tuple(random.normal(size=(batch_size, size)) for size in sizes)

    def parts(self) -> dict[str, Array]:
        """Everything that goes in, by name."""
        states = {f"state {number}": array for number, array in enumerate(self.state)}
        return {"inputs": self.inputs, **states, **self.weights}

    def loss(self, outputs: Array, state: States) -> float:
        final = sum(np.sum(a * d) for a, d in zip(state, self.d_state, strict=True))
        return float(np.sum(outputs * self.d_outputs) + final)


def by_name(gradients: Gradients) -> dict[str, Array]:
    states = {f"state {number}": array for number, array in enumerate(gradients.state)}
    return {"inputs": gradients.inputs, **states, **gradients.weights}


def run_torch(cell: Cell, case: Case, **options: bool) -> tuple[list[Array], dict[str, Array]]:
    """Outputs and final states, and the gradients of all parts, by the engine and autograd."""
    parts = {name: torch.tensor(a, requires_grad=True) for name, a in case.parts().items()}
    weights = {name: parts[name] for name in case.weights}
    state = tuple(parts[f"state {number}"] for number in range(len(case.state)))
    result = run(cell, weights, parts["inputs"], state, **options)
    came_out = [result.outputs, *result.state]
    arriving = [torch.tensor(a) for a in (case.d_outputs, *case.d_state)]
    used = [(out, d) for out, d in zip(came_out, arriving, strict=True) if out.requires_grad]
    outs, ds = zip(*used, strict=True)
    torch.autograd.backward(outs, ds)
    gradients = {
        name: np.zeros(part.shape) if part.grad is None else part.grad.numpy()
        for name, part in parts.items()
    }
    return [out.detach().numpy() for out in came_out], gradients


def run_by_hand(name: str, case: Case) -> tuple[Forward, dict[str, Array]]:
    cell = BY_HAND[name]
    result = forward(cell, case.weights, case.inputs, case.state)
    gradients = backward(cell, case.weights, result.cache, case.d_outputs, case.d_state)
    return result, by_name(gradients)


def assert_equal_to_torch(name: str, cell: Cell, case: Case, **options: bool) -> None:
    result, gradients = run_by_hand(name, case)
    expected_values, expected_gradients = run_torch(cell, case, **options)
    for value, expected in zip((result.outputs, *result.state), expected_values, strict=True):
        np.testing.assert_allclose(value, expected, **EXACT)
    assert gradients.keys() == expected_gradients.keys()
    for part, gradient in gradients.items():
        np.testing.assert_allclose(gradient, expected_gradients[part], **EXACT, err_msg=part)


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", BY_HAND)
def test_equal_to_the_torch_cell(name: str, shape: tuple[int, ...], fuse: bool) -> None:
    batch_size, time, input_size, hidden_size = shape
    cell = CELLS[name](input_size, hidden_size)
    assert_equal_to_torch(name, cell, Case(cell, batch_size, time), fuse=fuse)


def test_two_biases_as_pytorch_writes_them() -> None:
    cell = LSTM(3, 4, second_bias=True)
    assert "gates_state_bias" in cell.shapes()
    assert_equal_to_torch("lstm", cell, Case(cell, 2, 4))


@pytest.mark.parametrize("name", BY_HAND)
def test_equal_to_central_differences(name: str) -> None:
    case = Case(CELLS[name](2, 3), batch_size=2, time=4)
    cell = BY_HAND[name]
    _, gradients = run_by_hand(name, case)
    step = 1e-5
    for part, values in case.parts().items():
        for index in np.ndindex(values.shape):
            losses = []
            value = values[index]
            for moved in (value + step, value - step):
                values[index] = moved
                came_out = forward(cell, case.weights, case.inputs, case.state)
                losses.append(case.loss(came_out.outputs, came_out.state))
            values[index] = value
            slope = (losses[0] - losses[1]) / (2 * step)
            assert gradients[part][index] == pytest.approx(slope, rel=1e-6, abs=1e-8), part


@pytest.mark.parametrize("name", BY_HAND)
def test_without_a_state_it_starts_from_zeros(name: str) -> None:
    case = Case(CELLS[name](3, 4), batch_size=2, time=3)
    cell = BY_HAND[name]
    zeros = tuple(np.zeros_like(state) for state in case.state)
    left = forward(cell, case.weights, case.inputs)
    right = forward(cell, case.weights, case.inputs, zeros)
    np.testing.assert_array_equal(left.outputs, right.outputs)
    alone = by_name(backward(cell, case.weights, left.cache, case.d_outputs))
    given = by_name(backward(cell, case.weights, left.cache, case.d_outputs, zeros))
    for part, gradient in alone.items():
        np.testing.assert_array_equal(gradient, given[part])


@pytest.mark.parametrize("name", BY_HAND)
def test_two_pieces_are_the_whole_unless_the_gradient_is_cut(name: str) -> None:
    case = Case(CELLS[name](3, 4), batch_size=2, time=7)
    cell = BY_HAND[name]
    whole, gradients = run_by_hand(name, case)
    first = forward(cell, case.weights, case.inputs[:, :3], case.state)
    second = forward(cell, case.weights, case.inputs[:, 3:], first.state)
    outputs = np.concatenate([first.outputs, second.outputs], axis=1)
    np.testing.assert_allclose(outputs, whole.outputs, **EXACT)
    late = backward(cell, case.weights, second.cache, case.d_outputs[:, 3:], case.d_state)
    joined = backward(cell, case.weights, first.cache, case.d_outputs[:, :3], late.state)
    cut = backward(cell, case.weights, first.cache, case.d_outputs[:, :3])  # truncated
    for weight in case.weights:
        total = joined.weights[weight] + late.weights[weight]
        np.testing.assert_allclose(total, gradients[weight], **EXACT)
        assert not np.allclose(cut.weights[weight] + late.weights[weight], gradients[weight])


@pytest.mark.parametrize("name", BY_HAND)
def test_arguments_are_left_as_they_were(name: str) -> None:
    case, untouched = (Case(CELLS[name](3, 4), batch_size=2, time=3) for _ in range(2))
    run_by_hand(name, case)
    for part, values in case.parts().items():
        np.testing.assert_array_equal(values, untouched.parts()[part])
    for left, right in zip(
        (case.d_outputs, *case.d_state), (untouched.d_outputs, *untouched.d_state), strict=True
    ):
        np.testing.assert_array_equal(left, right)


def test_a_shared_weight_gets_the_sum_over_its_appearances() -> None:
    # h_1 = tanh(w x_1), h_2 = tanh(w x_2 + h_1 u); with x = (1, 0), w = 0, u = 3:
    # h_1 = h_2 = 0, both slopes 1. Loss h_2: step 2 gives dw = x_2 = 0, step 1 gives u x_1 = 3.
    weights = {
        "hidden_input": np.zeros((1, 1)),
        "hidden_state": np.full((1, 1), 3.0),
        "hidden_bias": np.zeros(1),
    }
    result = forward(ELMAN, weights, np.array([[[1.0], [0.0]]]))
    gradients = backward(ELMAN, weights, result.cache, np.array([[[0.0], [1.0]]]))
    assert gradients.weights["hidden_input"].item() == 3.0
    assert gradients.weights["hidden_bias"].item() == 4.0  # step 2: 1, step 1: u = 3
    assert gradients.inputs.ravel().tolist() == [0.0, 0.0]
    assert gradients.state[0].item() == 9.0  # u twice


def test_the_two_gated_units_keep_in_opposite_senses() -> None:
    # All products 0 but the bias of u, and of z: σ(±50) is 0 or 1.
    held, inputs = np.array([[0.5]]), np.zeros((1, 1, 1))
    gru = {f"gates_{p}": np.zeros((2, 1)) for p in ("input", "state")}
    gru |= {f"candidate_{p}": np.zeros((1, 1)) for p in ("input", "state")}
    gru |= {"gates_bias": np.array([-50.0, 0.0]), "candidate_bias": np.zeros(1)}
    torch_gru = {"gates_input": np.zeros((2, 1)), "gates_state": np.zeros((3, 1))}
    torch_gru |= {"candidate_input": np.zeros((1, 1)), "candidate_bias": np.zeros(1)}
    torch_gru |= {"gates_bias": np.array([0.0, 50.0, 0.0])}
    assert forward(BY_HAND["gru"], gru, inputs, (held,)).outputs.item() == pytest.approx(0.5)
    assert forward(
        BY_HAND["torch-gru"], torch_gru, inputs, (held,)
    ).outputs.item() == pytest.approx(0.5)


def test_jacobian_norms_equal_autograd() -> None:
    cell = CELLS["elman"](3, 4)
    case = Case(cell, batch_size=2, time=5)
    outputs = forward(ELMAN, case.weights, case.inputs, case.state).outputs
    norms = jacobian_norms(case.weights, outputs)
    assert norms.shape == (2, 6)
    weights = {name: torch.tensor(weight) for name, weight in case.weights.items()}
    states = np.concatenate([case.state[0][:, None], outputs], axis=1)  # h_0 … h_T
    for row in range(2):
        for t in range(5):
            rest = torch.tensor(case.inputs[row : row + 1, t:])

            def final(hidden: torch.Tensor, rest: torch.Tensor = rest) -> torch.Tensor:
                return run(cell, weights, rest, (hidden[None],)).state[0][0]

            jacobian = torch.autograd.functional.jacobian(final, torch.tensor(states[row, t]))
            expected = torch.linalg.matrix_norm(jacobian, ord=2).item()
            np.testing.assert_allclose(norms[row, t], expected, **EXACT)
        assert norms[row, 5] == pytest.approx(1.0)


def test_gradients_vanish_or_explode() -> None:
    # At h = 0 every factor is U, here 0.5 or 2 times the identity: three steps back, 1/8 or 8.
    outputs = np.zeros((1, 3, 2))
    small = jacobian_norms({"hidden_state": 0.5 * np.eye(2)}, outputs)
    large = jacobian_norms({"hidden_state": 2 * np.eye(2)}, outputs)
    np.testing.assert_allclose(small, [[0.125, 0.25, 0.5, 1]])
    np.testing.assert_allclose(large, [[8, 4, 2, 1]])


def test_clip_by_norm() -> None:
    gradients = {"a": np.array([3.0, 0.0]), "b": np.array([[4.0]])}  # ‖g‖ = √(9 + 16) = 5
    halved = clip_by_norm(gradients, 2.5)  # × 2.5 / 5
    assert halved["a"].tolist() == [1.5, 0.0]
    assert halved["b"].tolist() == [[2.0]]
    assert clip_by_norm(gradients, 5.0)["a"].tolist() == [3.0, 0.0]
    assert clip_by_norm(gradients, 10.0)["b"].tolist() == [[4.0]]  # max would give 8
    assert gradients["a"].tolist() == [3.0, 0.0]
    assert clip_by_norm({"a": np.zeros(2)}, 1.0)["a"].tolist() == [0.0, 0.0]


def test_sigmoid_far_out() -> None:
    # 0.5, 1/(1 + e^-2) = 0.8807970779778823, and both ends without a warning
    values = sigmoid(np.array([0.0, 2.0, 1000.0, -1000.0]))
    np.testing.assert_allclose(values, [0.5, 0.8807970779778823, 1.0, 0.0], **EXACT)


def test_every_name_is_a_torch_cell() -> None:
    assert BY_HAND.keys() <= CELLS.keys()
