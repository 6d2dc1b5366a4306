"""Jacobians against finite differences, and their products against known cases."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from elman.errors import InputError
from elman.insight.gradient_flow import GradientFlow
from elman.insight.insight import Subject, inputs_of
from elman.insight.jacobians import Jacobians, step_jacobians
from elman.state import tensors

IDS = [3, 1, 4, 1, 5]
STEP = 1e-6


def flat(state: object) -> np.ndarray:
    return torch.cat(tensors(state), dim=1)[0].numpy()  # type: ignore[arg-type]


@pytest.mark.parametrize("cell", ["elman", "gru", "lstm"])
def test_steps_agree_with_finite_differences(cell: str, subject: Callable[..., Subject]) -> None:
    given = subject(IDS, cell=cell, hidden_size=3, num_layers=2)
    model, inputs = given.model, inputs_of(given)
    found = step_jacobians(model, inputs)
    assert len(found) == 4
    with torch.no_grad():
        before = model.begin(1)[0]
        for number in inputs[:2]:
            before = model.encode(number.view(1, 1), before)[1]
        parts = tensors(before)
        columns = []
        for tensor in parts:
            for unit in range(tensor.shape[1]):
                ends = []
                for amount in (STEP, -STEP):
                    tensor[0, unit] += amount
                    ends.append(flat(model.encode(inputs[2].view(1, 1), before)[1]))
                    tensor[0, unit] -= amount
                columns.append((ends[0] - ends[1]) / (2 * STEP))
    np.testing.assert_allclose(found[1], np.stack(columns, axis=1), rtol=1e-5, atol=1e-8)


def test_the_product_of_a_linear_network_is_a_power(subject: Callable[..., Subject]) -> None:
    """With h_t = relu(… + U h_{t-1}) and large biases, every step multiplies by U."""
    given = subject(IDS, cell="elman", options={"activation": "relu"}, hidden_size=3)
    weights = given.model.stack.layers[0].directions[0].weights
    with torch.no_grad():
        weights["hidden_bias"].fill_(100.0)
        weights["hidden_state"].copy_(torch.diag(torch.tensor([0.5, 0.2, 0.1])))
    seen = Jacobians.look(given)
    assert seen.distances == [1, 2, 3, 4]
    np.testing.assert_allclose(seen.radii, [0.5, 0.25, 0.125, 0.0625])
    np.testing.assert_allclose(seen.norms, seen.radii)
    assert seen.per_step() == pytest.approx(0.5)


def test_products_are_kept_in_range(subject: Callable[..., Subject]) -> None:
    given = subject([1] * 60, cell="elman", options={"activation": "relu"}, hidden_size=2)
    weights = given.model.stack.layers[0].directions[0].weights
    with torch.no_grad():
        weights["hidden_bias"].fill_(1e3)
        weights["hidden_input"].zero_()
        weights["hidden_state"].copy_(torch.diag(torch.tensor([1e-9, 1e-9])))
    seen = Jacobians.look(given)
    assert seen.radii[9] == pytest.approx(1e-90)
    assert seen.radii[-1] == 0.0  # 1e-531 is below all numbers
    assert all(value is None for value in seen.drawings()[0].arguments["series"][0]["y"][-5:])


def test_the_norm_bounds_the_gradient(subject: Callable[..., Subject]) -> None:
    """‖∂loss_T/∂h_i‖ ≤ ‖∂loss_T/∂h_T‖ · ‖P‖: the two insights are about the same thing."""
    given = subject([3, 1, 4, 1, 5, 9, 2, 6], cell="elman")
    norms = GradientFlow.look(given).of_loss(-1)
    seen = Jacobians.look(given)
    for distance, bound in zip(seen.distances, seen.norms, strict=True):
        assert norms[distance] <= norms[0] * bound * (1 + 1e-9)


def test_what_cannot_be_seen_is_said(subject: Callable[..., Subject]) -> None:
    with pytest.raises(InputError, match="no recurrent layers"):
        Jacobians.look(subject(IDS, "feed-forward", order=3, hidden_size=4))
    with pytest.raises(InputError, match="up to 1,000"):
        Jacobians.look(subject(IDS, cell="lstm", hidden_size=600))
    with pytest.raises(InputError, match="one token"):
        Jacobians.look(subject([3]))
