"""Gradient flow against finite differences, and against known properties of cells."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from elman.cells import CELLS
from elman.errors import InputError
from elman.insight.gradient_flow import GradientFlow, side_by_side
from elman.insight.insight import Subject, inputs_of
from elman.insight.recording import Record, WatchedCell, watch

IDS = [3, 1, 4, 1, 5, 9]
STEP = 1e-5


class Nudged(WatchedCell):
    """Adds a small number to one unit of the state, after one step."""

    def __init__(self, cell: Any, step: int, tensor: int, unit: int, amount: float) -> None:
        super().__init__(cell, Record("nudged"))
        self.nudge = (step, tensor, unit, amount)
        self.done = 0

    def step(self, step: Any, state: Any) -> Any:
        after = [part.clone() for part in self.cell.step(step, state)]
        at, tensor, unit, amount = self.nudge
        if self.done == at:
            after[tensor][:, unit] += amount
        self.done += 1
        return tuple(after)


def losses_when_nudged(subject: Subject, layer: int, *nudge: Any) -> np.ndarray:
    """All losses of the text, (T,), with one number of one state changed."""
    model = copy.deepcopy(subject.model)
    (direction,) = model.stack.layers[layer].directions
    direction.cell = Nudged(direction.cell, *nudge)
    with torch.no_grad():
        evidence, _ = model.advance(inputs_of(subject)[None], model.begin(1))
        return -model.score_from(evidence, torch.from_numpy(subject.ids)[None])[0].numpy()


def by_finite_differences(subject: Subject, layer: int, tensor: int) -> np.ndarray:
    """‖∂loss_t/∂state_i‖ of one tensor of a layer's state, (T, T), one number at a time."""
    cell = subject.model.stack.layers[layer].directions[0].cell
    time, size = len(subject.ids), cell.state_sizes[tensor]
    gradients = np.zeros((time, time, size))
    for step in range(time):
        for unit in range(size):
            above = losses_when_nudged(subject, layer, step, tensor, unit, STEP)
            below = losses_when_nudged(subject, layer, step, tensor, unit, -STEP)
            gradients[step, :, unit] = (above - below) / (2 * STEP)
    return np.linalg.norm(gradients, axis=2)


@pytest.mark.parametrize("cell", ["elman", "gru", "lstm", "highway", "nas", "min-lstm"])
def test_norms_agree_with_finite_differences(cell: str, subject: Callable[..., Subject]) -> None:
    given = subject(IDS, cell=cell, hidden_size=4)
    flow = GradientFlow.look(given)
    states = given.model.stack.layers[0].directions[0].cell.state_sizes
    for tensor, name in enumerate(("hidden", "cell")[: len(states)]):
        expected = by_finite_differences(given, 0, tensor)
        assert expected.max() > 0.01
        np.testing.assert_allclose(flow.norms[f"layer 1 {name}"], expected, rtol=1e-5, atol=1e-8)


def test_norms_agree_through_two_layers(subject: Callable[..., Subject]) -> None:
    given = subject(IDS, cell="lstm", num_layers=2, hidden_size=3, connection="dense")
    flow = GradientFlow.look(given)
    expected = [by_finite_differences(given, layer, t) for layer in (0, 1) for t in (0, 1)]
    names = ["layer 1 hidden", "layer 1 cell", "layer 2 hidden", "layer 2 cell"]
    for name, values in zip(names, expected, strict=True):
        np.testing.assert_allclose(flow.norms[name], values, rtol=1e-5, atol=1e-8)
    whole = np.sqrt(sum(values**2 for values in expected))
    np.testing.assert_allclose(flow.norms["state"], whole, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("cell", CELLS)
def test_every_cell_can_be_watched(cell: str, subject: Callable[..., Subject]) -> None:
    flow = GradientFlow.look(subject(IDS, cell=cell, hidden_size=5))
    norms = flow.norms["state"]
    assert norms.shape == (6, 6)
    assert np.tril(norms, -1).max() == 0  # no loss depends on a later state
    assert np.diagonal(norms).min() > 0


def test_looking_changes_nothing(subject: Callable[..., Subject]) -> None:
    given = subject(IDS, cell="lstm", num_layers=2)
    model, before = given.model, {n: p.clone() for n, p in given.model.named_parameters()}
    cells = [type(layer.directions[0].cell) for layer in model.stack.layers]
    GradientFlow.look(given)
    assert [type(layer.directions[0].cell) for layer in model.stack.layers] == cells
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, before[name])
        assert parameter.grad is None
        assert parameter.requires_grad


def test_the_twin_shares_its_weights(subject: Callable[..., Subject]) -> None:
    model = subject(IDS).model
    twin = watch(model).model
    pairs = zip(model.parameters(), twin.parameters(), strict=True)
    assert all(own.data_ptr() == other.data_ptr() for own, other in pairs)


def test_a_line_end_stops_the_gradient_where_lines_stand_alone(
    subject: Callable[..., Subject],
) -> None:
    flow = GradientFlow.look(subject([3, 1, 0, 4, 5], context="line"))
    across = flow.norms["state"][:3, 3:]  # states of the first line, losses of the second
    assert across.max() == 0
    assert flow.norms["state"][3, 4] > 0


def test_parts_of_rows_make_no_difference(
    subject: Callable[..., Subject], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = subject(IDS, cell="gru")
    whole = GradientFlow.look(given).norms["state"]
    monkeypatch.setattr("elman.insight.insight._AT_ONCE", 1)
    np.testing.assert_allclose(GradientFlow.look(given).norms["state"], whole, rtol=1e-12)


def test_distances_and_half_life_by_hand() -> None:
    norms = np.array([[4.0, 2.0, 1.0], [0.0, 8.0, 4.0], [0.0, 0.0, 12.0]])
    flow = GradientFlow(["<start>", "a", "b"], ["a", "b", "c"], {"state": norms})
    assert flow.by_distance() == [8.0, 3.0, 1.0]  # (4 + 8 + 12) / 3, (2 + 4) / 2, 1
    assert flow.of_loss(-1) == [12.0, 4.0, 1.0]
    assert flow.half_life() == 1
    assert flow.to_data()["norms"]["state"][1][0] is None


def test_side_by_side_is_relative_to_each_network() -> None:
    def flow(scale: float) -> GradientFlow:
        norms = scale * np.array([[1.0, 0.5], [0.0, 1.0]])
        return GradientFlow(["<start>", "a"], ["a", "b"], {"state": norms})

    means, last, one, other = side_by_side({"elman": flow(1.0), "lstm": flow(7.0)})
    assert [series["y"] for series in means.arguments["series"]] == [[1.0, 0.5], [1.0, 0.5]]
    assert "(b)" in last.title
    assert one.arguments["values"] == other.arguments["values"] == [[1.0, 0.5], [None, 1.0]]
    assert one.arguments["low"] == other.arguments["low"] == 0.5


def test_a_window_has_no_state(subject: Callable[..., Subject]) -> None:
    with pytest.raises(InputError, match="no recurrent layers"):
        GradientFlow.look(subject(IDS, "feed-forward", order=3, hidden_size=4))
