"""Zoneout, by itself and as a layer uses it."""

import pytest
import torch

from elman.cells import CELLS
from elman.cells.elman_rnn import ElmanRNN
from elman.cells.engine import run
from elman.cells.lstm import LSTM
from elman.errors import InputError
from elman.layers.recurrent import Recurrent
from elman.layers.zoneout import Zoneout

TRAINING = pytest.mark.parametrize("training", [True, False])


def make(cell: str = "lstm", size: int = 4) -> tuple[Recurrent, torch.Tensor]:
    return Recurrent(CELLS[cell](3, size)).double(), torch.randn(2, 6, 3, dtype=torch.float64)


def run_zoned(recurrent, inputs, rates, training, state=None):
    zoned = Zoneout(recurrent.cell, rates, training=training)
    return run(zoned, recurrent.own_weights(), inputs, state)


@TRAINING
@pytest.mark.parametrize("cell", ["elman", "lstm", "gru", "torch-gru"])
def test_rate_0_is_the_cell(cell, training) -> None:
    recurrent, inputs = make(cell)
    zoned, plain = run_zoned(recurrent, inputs, 0.0, training), recurrent(inputs)
    torch.testing.assert_close(zoned.outputs, plain.outputs, rtol=0, atol=1e-14)
    torch.testing.assert_close(zoned.state, plain.state, rtol=0, atol=1e-14)


@TRAINING
def test_rate_1_never_changes_the_state(training) -> None:
    recurrent, inputs = make()
    state = tuple(torch.randn(2, 4, dtype=torch.float64) for _ in range(2))
    zoned = run_zoned(recurrent, inputs, 1.0, training, state)
    assert torch.equal(zoned.state[0], state[0])
    assert torch.equal(zoned.state[1], state[1])
    assert torch.equal(zoned.outputs, state[0].unsqueeze(1).expand(2, 6, 4))


def test_evaluation_is_the_expectation() -> None:
    """One step by hand: rate · old + (1 - rate) · new, each state with its rate."""
    recurrent, inputs = make()
    state = tuple(torch.randn(2, 4, dtype=torch.float64) for _ in range(2))
    zoned = run_zoned(recurrent, inputs[:, :1], (0.25, 0.5), False, state)
    new = recurrent(inputs[:, :1], state).state
    torch.testing.assert_close(zoned.state[0], 0.25 * state[0] + 0.75 * new[0])
    torch.testing.assert_close(zoned.state[1], 0.5 * state[1] + 0.5 * new[1])


def test_training_keeps_units_at_the_rate_fresh_per_step() -> None:
    recurrent, inputs = make("elman", 2000)
    outputs = run_zoned(recurrent, inputs, 0.25, True).outputs
    start = torch.zeros_like(outputs[:, :1])
    kept = outputs == torch.cat([start, outputs[:, :-1]], dim=1)  # (B, T, size)
    # 24,000 draws: standard deviation √(0.25 · 0.75 / 24,000) = 0.0028
    assert kept.double().mean().item() == pytest.approx(0.25, abs=0.014)
    assert not torch.equal(kept[:, 1], kept[:, 2])
    assert not torch.equal(kept[0], kept[1])


def test_what_is_not_kept_is_what_the_cell_proposes() -> None:
    recurrent, inputs = make("elman", 50)
    outputs = run_zoned(recurrent, inputs[:, :1], 0.5, True).outputs
    proposed = recurrent(inputs[:, :1]).outputs
    assert torch.where(outputs == 0, proposed, outputs).allclose(proposed)
    assert 0 < outputs.eq(0).sum() < outputs.numel()


def test_the_layer_tells_whether_it_is_training() -> None:
    recurrent = Recurrent(LSTM(3, 4), zoneout=0.5).double()
    inputs = torch.randn(2, 6, 3, dtype=torch.float64)
    assert not torch.equal(recurrent(inputs).outputs, recurrent(inputs).outputs)
    recurrent.eval()
    expected = run_zoned(recurrent, inputs, 0.5, False).outputs
    assert torch.equal(recurrent(inputs).outputs, expected)


def test_a_layer_without_zoneout_runs_the_cell_itself(monkeypatch) -> None:
    recurrent, inputs = make()
    expected = recurrent(inputs).outputs
    monkeypatch.setattr(Zoneout, "step", None)
    assert torch.equal(recurrent(inputs).outputs, expected)


@TRAINING
def test_no_kernel_is_used(monkeypatch, training) -> None:
    recurrent, inputs = make()
    monkeypatch.setattr(torch, "lstm", None)
    run_zoned(recurrent, inputs, 0.5, training)
    with pytest.raises(TypeError):  # the plain cell would
        recurrent(inputs)


def test_gradients_pass_through_what_is_kept() -> None:
    """At rate 1, nothing but the initial state reaches the outputs, and all of it does."""
    recurrent, inputs = make("elman")
    state = torch.randn(2, 4, dtype=torch.float64, requires_grad=True)
    run_zoned(recurrent, inputs, 1.0, True, (state,)).state[0].sum().backward()
    assert state.grad.eq(1).all()
    assert recurrent.own_weights()["hidden_state"].grad.eq(0).all()


def test_it_has_the_weights_and_start_of_its_cell() -> None:
    cell = LSTM(3, 4, projection=2, forget_bias=9.0)
    zoned = Zoneout(cell, 0.5, training=True)
    assert zoned.shapes() == cell.shapes()
    start = zoned.start(2, torch.zeros(1))
    assert [tensor.shape for tensor in start] == [(2, 2), (2, 4)]
    weights = {name: torch.zeros(shape) for name, shape in zoned.shapes().items()}
    zoned.initialise(weights)
    assert weights["gates_bias"][4:8].gt(8).all()


@pytest.mark.parametrize("rates", [-0.1, 1.1, (0.5,), (0.1, 0.2, 0.3), (0.1, 2.0)])
def test_bad_rates_are_refused(rates) -> None:
    with pytest.raises(InputError, match="zoneout="):
        Recurrent(LSTM(3, 4), zoneout=rates)


def test_one_rate_for_one_state() -> None:
    assert Recurrent(ElmanRNN(3, 4), zoneout=(0.5,)).zoneout == (0.5,)
