"""Single steps agree with the engine for every cell, and nearly so with eight bits."""

import pytest
import torch

from elman.cells import CELLS
from elman.cells.eight_bits import quantise_rows
from elman.cells.engine import run
from elman.cells.stepping import Stepper, linear

SIZE = 6


def weights_of(cell) -> dict[str, torch.Tensor]:
    weights = {name: torch.empty(shape) for name, shape in cell.shapes().items()}
    cell.initialise(weights)
    return weights


@pytest.mark.parametrize("name", CELLS)
def test_stepping_equals_scanning(name: str) -> None:
    torch.manual_seed(0)
    cell = CELLS[name](SIZE, SIZE)
    weights = {key: value.double() for key, value in weights_of(cell).items()}
    inputs = torch.randn(3, 8, SIZE, dtype=torch.float64)
    whole = run(cell, weights, inputs)
    stepper = Stepper(cell, weights)
    state = cell.start(3, inputs)
    for t in range(8):
        state = stepper.step(inputs[:, t], state)
        assert torch.allclose(state[0], whole.outputs[:, t], atol=1e-12)
    for one, other in zip(state, whole.state, strict=True):
        assert torch.allclose(one, other, atol=1e-12)


def test_a_quantised_row_is_within_half_a_step() -> None:
    weight = torch.tensor([[1.0, -2.0, 0.5], [0.0, 0.0, 0.0], [127.0, 1.0, -64.4]])
    quantised, scales = quantise_rows(weight)
    assert quantised.dtype == torch.int8
    assert quantised[2].tolist() == [127, 1, -64]  # the scale of that row is one
    error = (quantised * scales[:, None] - weight).abs()
    assert (error <= scales[:, None] / 2 + 1e-7).all()


def test_eight_bits_are_nearly_the_same() -> None:
    torch.manual_seed(0)
    weight, bias = torch.randn(64, 32), torch.randn(64)
    values = torch.randn(2, 32)
    exact, near = (linear(weight, bias, way)(values) for way in ("one", "int8"))
    assert torch.allclose(exact, torch.nn.functional.linear(values, weight, bias))
    assert 0 < (near - exact).norm() / exact.norm() < 0.02


def test_a_stepper_in_eight_bits_follows_the_float_one() -> None:
    torch.manual_seed(0)
    cell = CELLS["lstm"](64, 64)
    weights = weights_of(cell)
    inputs = torch.randn(1, 20, 64)
    exact = run(cell, weights, inputs).outputs[0]
    stepper, state, outputs = Stepper(cell, weights, "int8"), cell.start(1, inputs), []
    for t in range(20):
        state = stepper.step(inputs[:, t], state)
        outputs.append(state[0][0])
    assert 0 < (torch.stack(outputs) - exact).norm() / exact.norm() < 0.02


def test_weights_that_change_afterwards_are_not_followed() -> None:
    cell = CELLS["lstm"](3, 4)
    weights = {name: torch.randn(shape) for name, shape in cell.shapes().items()}
    stepper = Stepper(cell, weights)
    inputs, state = torch.randn(1, 3), cell.start(1, torch.empty(0))
    before = stepper.step(inputs, state)
    for weight in weights.values():
        weight.add_(1)
    assert all(torch.equal(a, b) for a, b in zip(before, stepper.step(inputs, state), strict=True))
