"""Recurrent dropout and zoneout: masks, rates, gradients."""

import pytest
import torch

from elman.cells import CELLS
from elman.cells.cell import Cell, Run
from elman.cells.elman_rnn import ElmanRNN
from elman.cells.engine import run
from elman.cells.lstm import LSTM
from elman.errors import InputError
from elman.layers.recurrent import Recurrent
from elman.layers.stack import Stack, StackConfig
from elman.layers.wrapped_cells import RecurrentDropout, Zoneout

B, T, SIZE = 3, 6, 4
RECURRENT = [name for name in CELLS if name not in ("min-gru", "min-lstm")]
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def random(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64)


def make(cell: str, size: int = SIZE, rate: float = 0.5) -> Recurrent:
    return Recurrent(CELLS[cell](size, size), recurrent_dropout=rate).double()


def watch(recurrent: Recurrent, inputs: torch.Tensor) -> tuple[Run, torch.Tensor]:
    """A run, and the mask (B, size) that it drew."""
    masked = RecurrentDropout(recurrent.cell, recurrent.recurrent_dropout)
    done = run(masked, recurrent.own_weights(), inputs)
    (mask,) = masked._masks.values()
    return done, mask


def copying(size: int) -> tuple[Recurrent, torch.Tensor]:
    """A cell that only copies its state, h_t = U h_{t-1}, halved where it is not dropped."""
    recurrent = Recurrent(CELLS["elman"](1, size, activation="relu"), recurrent_dropout=0.5)
    with torch.no_grad():
        for weight in recurrent.parameters():
            weight.zero_()
        recurrent.weights["hidden_state"].copy_(0.5 * torch.eye(size))
    return recurrent, torch.zeros(B, T, 1)


def test_the_mask_is_constant_over_time_and_differs_between_rows() -> None:
    """A unit of the copying cell is dropped at every step or at none: it dies at once or lasts."""
    recurrent, inputs = copying(2000)
    outputs = recurrent(inputs, (torch.ones(B, 2000),)).outputs
    assert set(outputs.unique().tolist()) == {0.0, 1.0}  # 0.5 · 2 = 1 where it stays
    assert torch.equal(outputs, outputs[:, :1].expand_as(outputs))
    assert not torch.equal(outputs[0], outputs[1])
    # 6,000 draws: standard deviation √(0.25 / 6,000) = 0.0065
    assert outputs[:, 0].mean().item() == pytest.approx(0.5, abs=0.03)


def test_the_mask_is_drawn_anew_for_every_run() -> None:
    recurrent, inputs = copying(50)
    first, second = (recurrent(inputs, (torch.ones(B, 50),)).outputs for _ in range(2))
    assert not torch.equal(first, second)


def test_lstm_by_hand() -> None:
    recurrent, inputs = make("lstm"), random(B, T, SIZE)
    done, mask = watch(recurrent, inputs)
    w, hidden, memory = recurrent.own_weights(), torch.zeros(B, SIZE), torch.zeros(B, SIZE)
    for t in range(T):
        rows = inputs[:, t] @ w["gates_input"].t() + (mask * hidden) @ w["gates_state"].t()
        i, f, g, o = (rows + w["gates_bias"]).chunk(4, dim=1)
        memory = f.sigmoid() * memory + i.sigmoid() * g.tanh()
        hidden = o.sigmoid() * memory.tanh()
        torch.testing.assert_close(done.outputs[:, t], hidden, **CLOSE)
    torch.testing.assert_close(done.state, (hidden, memory), **CLOSE)


def test_gru_by_hand() -> None:
    """Both products read the masked state; what is kept is kept whole."""
    recurrent, inputs = make("gru"), random(B, T, SIZE)
    done, mask = watch(recurrent, inputs)
    w, hidden = recurrent.own_weights(), torch.zeros(B, SIZE, dtype=torch.float64)
    for t in range(T):
        x, seen = inputs[:, t], mask * hidden
        rows = x @ w["gates_input"].t() + seen @ w["gates_state"].t() + w["gates_bias"]
        update, reset = rows.sigmoid().chunk(2, dim=1)
        candidate = x @ w["candidate_input"].t() + (reset * seen) @ w["candidate_state"].t()
        candidate = (candidate + w["candidate_bias"]).tanh()
        hidden = (1 - update) * hidden + update * candidate
        torch.testing.assert_close(done.outputs[:, t], hidden, **CLOSE)


def test_highway_shares_its_mask_between_depths() -> None:
    recurrent = make("highway")
    inputs = random(B, T, SIZE)
    done, mask = watch(recurrent, inputs)
    w, state = recurrent.own_weights(), torch.zeros(B, SIZE, dtype=torch.float64)
    for t in range(T):
        for name in recurrent.cell.products:
            rows = (mask * state) @ w[f"{name}_state"].t() + w[f"{name}_bias"]
            if name == "depth1":
                rows = rows + inputs[:, t] @ w["depth1_input"].t()
            new, gate = rows.chunk(2, dim=1)
            state = gate.sigmoid() * new.tanh() + (1 - gate.sigmoid()) * state
        torch.testing.assert_close(done.outputs[:, t], state, **CLOSE)


def test_mogrifier_is_masked_in_its_state_and_not_in_its_input() -> None:
    """A first step from zeros has no state to mask."""
    recurrent, inputs = make("mogrifier"), random(B, 1, SIZE)
    expected = run(recurrent.cell, recurrent.own_weights(), inputs).outputs
    torch.testing.assert_close(recurrent(inputs).outputs, expected, **CLOSE)


@pytest.mark.parametrize("cell", RECURRENT)
def test_only_training_drops(cell) -> None:
    recurrent, inputs = make(cell), random(B, T, SIZE)
    plain = run(recurrent.cell, recurrent.own_weights(), inputs).outputs
    assert not torch.equal(recurrent(inputs).outputs, plain)
    recurrent.eval()
    assert torch.equal(recurrent(inputs).outputs, plain)


@pytest.mark.parametrize("cell", RECURRENT)
def test_gradients_reach_everything(cell) -> None:
    recurrent, inputs = make(cell), random(B, T, SIZE).requires_grad_()
    state = tuple(random(B, size).requires_grad_() for size in recurrent.cell.state_sizes)
    outputs = recurrent(inputs, state).outputs
    (outputs * torch.linspace(-1, 2, outputs.numel()).view_as(outputs)).sum().backward()
    leaves = {"inputs": inputs, **dict(recurrent.named_parameters())}
    leaves |= {f"state {number}": tensor for number, tensor in enumerate(state)}
    for name, leaf in leaves.items():
        assert leaf.grad is not None, name
        assert leaf.grad.ne(0).any(), name


@pytest.mark.parametrize("cell", ["elman", "lstm", "gru", "mut3", "highway", "nas", "mogrifier"])
def test_gradients_are_those_of_finite_differences(cell) -> None:
    recurrent, inputs = make(cell, 3), random(2, 3, 3).requires_grad_()
    weights = recurrent.own_weights()

    def outputs(x: torch.Tensor, *given: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(1)  # the same mask for every difference
        return recurrent(x, weights=dict(zip(weights, given, strict=True))).outputs

    assert torch.autograd.gradcheck(outputs, (inputs, *weights.values()), fast_mode=True)


def test_lengths_and_zoneout_keep_the_state_as_it_is() -> None:
    """What a row of length 0, or a unit that zones out, keeps is h and not m ∘ h."""
    recurrent, inputs = make("lstm"), random(B, T, SIZE)
    state = (random(B, SIZE), random(B, SIZE))
    kept = recurrent(inputs, state, lengths=torch.zeros(B, dtype=torch.int64)).state
    assert all(torch.equal(old, new) for old, new in zip(state, kept, strict=True))
    zoned = Recurrent(recurrent.cell, zoneout=1.0, recurrent_dropout=0.5).double()
    assert torch.equal(zoned(inputs, state).state[0], state[0])


def test_it_goes_together_with_zoneout() -> None:
    """At a rate of zoneout that never happens, what is left is recurrent dropout."""
    inputs, cell = random(B, T, SIZE), CELLS["lstm"](SIZE, SIZE)
    both = Recurrent(cell, zoneout=(0.0, 1e-12), recurrent_dropout=0.5).double()
    alone = Recurrent(cell, recurrent_dropout=0.5).double()
    alone.load_state_dict(both.state_dict())
    torch.manual_seed(1)
    expected = alone(inputs).outputs
    torch.manual_seed(1)
    torch.testing.assert_close(both(inputs).outputs, expected, **CLOSE)


def test_it_has_the_weights_and_start_of_its_cell() -> None:
    cell: Cell = CELLS["lstm"](3, 4, projection=2, forget_bias=9.0)
    masked = RecurrentDropout(cell, 0.5)
    assert masked.shapes() == cell.shapes()
    assert [tensor.shape for tensor in masked.start(2, torch.zeros(1))] == [(2, 2), (2, 4)]
    weights = {name: torch.zeros(shape) for name, shape in masked.shapes().items()}
    masked.initialise(weights)
    assert weights["gates_bias"][4:8].gt(8).all()


def test_a_stack_hands_it_to_every_direction() -> None:
    config = StackConfig(num_layers=2, hidden_size=SIZE, bidirectional=True, recurrent_dropout=0.25)
    stack = Stack(SIZE, config).double()
    rates = [each.recurrent_dropout for layer in stack.layers for each in layer.directions]
    assert rates == [0.25] * 4
    inputs = random(B, T, SIZE)
    assert not torch.equal(stack(inputs).outputs, stack(inputs).outputs)
    stack.eval()
    assert torch.equal(stack(inputs).outputs, stack(inputs).outputs)


@pytest.mark.parametrize("rate", [-0.1, 1.0, 1.5])
def test_bad_rates_are_refused(rate) -> None:
    with pytest.raises(InputError, match="recurrent_dropout="):
        StackConfig(recurrent_dropout=rate)
    with pytest.raises(InputError, match="recurrent_dropout="):
        Recurrent(CELLS["lstm"](3, 4), recurrent_dropout=rate)


def test_it_needs_recurrent_weights() -> None:
    with pytest.raises(InputError, match=r"recurrent_dropout=0.5: the cell 'min-gru' has no"):
        Stack(SIZE, StackConfig(cell="min-gru", hidden_size=SIZE, recurrent_dropout=0.5))


TRAINING = pytest.mark.parametrize("training", [True, False])


def make_zoned(cell: str = "lstm", size: int = 4) -> tuple[Recurrent, torch.Tensor]:
    return Recurrent(CELLS[cell](3, size)).double(), torch.randn(2, 6, 3, dtype=torch.float64)


def run_zoned(recurrent, inputs, rates, training, state=None):
    zoned = Zoneout(recurrent.cell, rates, training=training)
    return run(zoned, recurrent.own_weights(), inputs, state)


@TRAINING
@pytest.mark.parametrize("cell", ["elman", "lstm", "gru", "torch-gru"])
def test_rate_0_is_the_cell(cell, training) -> None:
    recurrent, inputs = make_zoned(cell)
    zoned, plain = run_zoned(recurrent, inputs, 0.0, training), recurrent(inputs)
    torch.testing.assert_close(zoned.outputs, plain.outputs, rtol=0, atol=1e-14)
    torch.testing.assert_close(zoned.state, plain.state, rtol=0, atol=1e-14)


@TRAINING
def test_rate_1_never_changes_the_state(training) -> None:
    recurrent, inputs = make_zoned()
    state = tuple(torch.randn(2, 4, dtype=torch.float64) for _ in range(2))
    zoned = run_zoned(recurrent, inputs, 1.0, training, state)
    assert torch.equal(zoned.state[0], state[0])
    assert torch.equal(zoned.state[1], state[1])
    assert torch.equal(zoned.outputs, state[0].unsqueeze(1).expand(2, 6, 4))


def test_evaluation_is_the_expectation() -> None:
    """One step by hand: rate · old + (1 - rate) · new, each state with its rate."""
    recurrent, inputs = make_zoned()
    state = tuple(torch.randn(2, 4, dtype=torch.float64) for _ in range(2))
    zoned = run_zoned(recurrent, inputs[:, :1], (0.25, 0.5), False, state)
    new = recurrent(inputs[:, :1], state).state
    torch.testing.assert_close(zoned.state[0], 0.25 * state[0] + 0.75 * new[0])
    torch.testing.assert_close(zoned.state[1], 0.5 * state[1] + 0.5 * new[1])


def test_training_keeps_units_at_the_rate_fresh_per_step() -> None:
    recurrent, inputs = make_zoned("elman", 2000)
    outputs = run_zoned(recurrent, inputs, 0.25, True).outputs
    start = torch.zeros_like(outputs[:, :1])
    kept = outputs == torch.cat([start, outputs[:, :-1]], dim=1)  # (B, T, size)
    # 24,000 draws: standard deviation √(0.25 · 0.75 / 24,000) = 0.0028
    assert kept.double().mean().item() == pytest.approx(0.25, abs=0.014)
    assert not torch.equal(kept[:, 1], kept[:, 2])
    assert not torch.equal(kept[0], kept[1])


def test_what_is_not_kept_is_what_the_cell_proposes() -> None:
    recurrent, inputs = make_zoned("elman", 50)
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
    recurrent, inputs = make_zoned()
    expected = recurrent(inputs).outputs
    monkeypatch.setattr(Zoneout, "step", None)
    assert torch.equal(recurrent(inputs).outputs, expected)


@TRAINING
def test_no_kernel_is_used(monkeypatch, training) -> None:
    recurrent, inputs = make_zoned()
    monkeypatch.setattr(torch, "lstm", None)
    run_zoned(recurrent, inputs, 0.5, training)
    with pytest.raises(TypeError):  # the plain cell would
        recurrent(inputs)


def test_gradients_pass_through_what_is_kept() -> None:
    """At rate 1, nothing but the initial state reaches the outputs, and all of it does."""
    recurrent, inputs = make_zoned("elman")
    state = torch.randn(2, 4, dtype=torch.float64, requires_grad=True)
    run_zoned(recurrent, inputs, 1.0, True, (state,)).state[0].sum().backward()
    assert state.grad.eq(1).all()
    assert recurrent.own_weights()["hidden_state"].grad.eq(0).all()


def test_zoneout_has_the_weights_and_start_of_its_cell() -> None:
    cell = LSTM(3, 4, projection=2, forget_bias=9.0)
    zoned = Zoneout(cell, 0.5, training=True)
    assert zoned.shapes() == cell.shapes()
    start = zoned.start(2, torch.zeros(1))
    assert [tensor.shape for tensor in start] == [(2, 2), (2, 4)]
    weights = {name: torch.zeros(shape) for name, shape in zoned.shapes().items()}
    zoned.initialise(weights)
    assert weights["gates_bias"][4:8].gt(8).all()


@pytest.mark.parametrize("rates", [-0.1, 1.1, (0.5,), (0.1, 0.2, 0.3), (0.1, 2.0)])
def test_bad_zoneout_is_refused(rates) -> None:
    with pytest.raises(InputError, match="zoneout="):
        Recurrent(LSTM(3, 4), zoneout=rates)


def test_one_rate_for_one_state() -> None:
    assert Recurrent(ElmanRNN(3, 4), zoneout=(0.5,)).zoneout == (0.5,)
