"""Dropout with separate masks for each gate: the equations, the masks, and what it refuses."""

from typing import Any

import pytest
import torch

from elman.cells import CELLS
from elman.cells.cell import Run
from elman.cells.engine import run
from elman.errors import InputError
from elman.layers.dropout import draw_masks_anew, one_network
from elman.layers.recurrent import Recurrent
from elman.layers.stack import Stack, StackConfig
from elman.layers.wrapped_cells import GateDropout
from elman.models.encoder_decoder import EncoderDecoderConfig

B, T, SIZE = 3, 6, 4
CLOSE = {"rtol": 1e-12, "atol": 1e-12}
GATED = [name for name in CELLS if name != "mogrifier"]  # it reads input and state as one vector
Masks = dict[str, torch.Tensor]


def random(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64)


def make(cell: str = "lstm", **options: Any) -> Recurrent:
    made = Recurrent(CELLS[cell](SIZE, SIZE, **options), recurrent_dropout=0.5, gate_dropout=0.5)
    return made.double()


def watch(recurrent: Recurrent, inputs: torch.Tensor) -> tuple[Run, Masks, Masks]:
    """A run, and the masks (B, size) of inputs and state that it drew."""
    masked = GateDropout(recurrent.cell, 0.5, 0.5)
    done = run(masked, masked.split(recurrent.own_weights()), inputs)
    return done, masked.input_masks.drawn, masked.state_masks.drawn


def test_lstm_by_hand() -> None:
    """Every gate is computed alone, from its own masked input and its own masked state."""
    recurrent, inputs = make(second_bias=True), random(B, T, SIZE)
    done, of_input, of_state = watch(recurrent, inputs)
    w = {name: weight.chunk(4) for name, weight in recurrent.own_weights().items()}
    hidden = memory = torch.zeros(B, SIZE, dtype=torch.float64)
    for t in range(T):  # the same masks at every step
        gates = [
            (of_input[f"gates_{k + 1}"] * inputs[:, t]) @ w["gates_input"][k].t()
            + (of_state[f"gates_{k + 1}"] * hidden) @ w["gates_state"][k].t()
            + w["gates_bias"][k]
            + w["gates_state_bias"][k]
            for k in range(4)
        ]
        i, f, g, o = gates
        memory = f.sigmoid() * memory + i.sigmoid() * g.tanh()
        hidden = o.sigmoid() * memory.tanh()
        torch.testing.assert_close(done.outputs[:, t], hidden, **CLOSE)
    torch.testing.assert_close(done.state, (hidden, memory), **CLOSE)


def test_gru_by_hand() -> None:
    recurrent, inputs = make("gru"), random(B, T, SIZE)
    done, of_input, of_state = watch(recurrent, inputs)
    w = recurrent.own_weights()
    to_gates, from_state, bias = (
        w[f"gates_{part}"].chunk(2) for part in ("input", "state", "bias")
    )
    hidden = torch.zeros(B, SIZE, dtype=torch.float64)
    for t in range(T):
        update, reset = (
            (of_input[f"gates_{k + 1}"] * inputs[:, t]) @ to_gates[k].t()
            + (of_state[f"gates_{k + 1}"] * hidden) @ from_state[k].t()
            + bias[k]
            for k in range(2)
        )
        seen = of_state["candidate_1"] * reset.sigmoid() * hidden
        candidate = (of_input["candidate_1"] * inputs[:, t]) @ w["candidate_input"].t()
        candidate = (candidate + seen @ w["candidate_state"].t() + w["candidate_bias"]).tanh()
        hidden = (1 - update.sigmoid()) * hidden + update.sigmoid() * candidate
        torch.testing.assert_close(done.outputs[:, t], hidden, **CLOSE)


def test_masks_differ_between_gates_rows_inputs_and_runs() -> None:
    recurrent = Recurrent(CELLS["lstm"](200, 200))
    draws = [watch(recurrent, torch.zeros(B, T, 200))[1:] for _ in range(2)]
    masks = [mask for draw in draws for part in draw for mask in part.values()]
    assert len(masks) == 2 * 2 * 4  # runs, input and state, gates
    rows = torch.cat(masks)
    assert set(rows.unique().tolist()) == {0.0, 2.0}  # 1 / (1 - 0.5)
    # 16 · 3 · 200 draws: standard deviation √(0.25 / 9,600) = 0.0051
    assert rows.eq(0).double().mean().item() == pytest.approx(0.5, abs=0.025)
    assert len({tuple(row.tolist()) for row in rows}) == len(rows)


@pytest.mark.parametrize("cell", GATED)
def test_gates_without_dropout_are_the_cell(cell: str) -> None:
    """Only the order of sums differs; partial products and own weights included."""
    recurrent, inputs = make(cell), random(B, T, SIZE)
    state = tuple(random(B, size) for size in recurrent.cell.state_sizes)
    split = GateDropout(recurrent.cell, 0.0, 0.0)
    found = run(split, split.split(recurrent.own_weights()), inputs, state)
    expected = run(recurrent.cell, recurrent.own_weights(), inputs, state)
    torch.testing.assert_close(found.outputs, expected.outputs, **CLOSE)
    torch.testing.assert_close(found.state, expected.state, **CLOSE)


@pytest.mark.parametrize("cell", GATED)
def test_only_training_drops(cell: str) -> None:
    recurrent, inputs = make(cell), random(B, T, SIZE)
    plain = run(recurrent.cell, recurrent.own_weights(), inputs).outputs
    assert not torch.equal(recurrent(inputs).outputs, plain)
    recurrent.eval()
    assert torch.equal(recurrent(inputs).outputs, plain)


@pytest.mark.parametrize("cell", ["lstm", "gru", "torch-gru", "peephole", "mut2", "nas", "highway"])
def test_gradients_are_those_of_finite_differences(cell: str) -> None:
    recurrent, inputs = make(cell), random(2, 3, SIZE).requires_grad_()
    weights = recurrent.own_weights()

    def outputs(x: torch.Tensor, *given: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(1)  # the same masks for every difference
        return recurrent(x, weights=dict(zip(weights, given, strict=True))).outputs

    assert torch.autograd.gradcheck(outputs, (inputs, *weights.values()), fast_mode=True)


def test_padding_and_the_other_direction() -> None:
    """A reversed row is the reversed run, with the same masks."""
    recurrent, inputs = make(), random(B, T, SIZE)
    torch.manual_seed(1)
    found = recurrent(inputs, lengths=torch.tensor([6, 6, 2]), reverse=True).outputs
    turned = torch.cat([inputs[:2].flip(1), torch.cat([inputs[2:, :2].flip(1), inputs[2:, 2:]], 1)])
    torch.manual_seed(1)
    expected = recurrent(turned).outputs
    torch.testing.assert_close(found[:2], expected[:2].flip(1), **CLOSE)
    torch.testing.assert_close(found[2:, :2], expected[2:, :2].flip(1), **CLOSE)
    assert found[2, 2:].eq(0).all()


def test_zoneout_around_it() -> None:
    """At a rate that never happens, what is left is the dropout of the gates."""
    alone = make()
    both = Recurrent(alone.cell, zoneout=(0.0, 1e-12), recurrent_dropout=0.5, gate_dropout=0.5)
    both.double().load_state_dict(alone.state_dict())
    inputs = random(B, T, SIZE)
    torch.manual_seed(1)
    expected = alone(inputs).outputs
    torch.manual_seed(1)
    torch.testing.assert_close(both(inputs).outputs, expected, **CLOSE)


def test_one_network_has_the_same_masks_in_every_call() -> None:
    recurrent, inputs = make(), random(B, T, SIZE)
    with torch.no_grad(), one_network(3):
        draw_masks_anew()
        whole = recurrent(inputs)
        draw_masks_anew()
        first = recurrent(inputs[:, :2])
        draw_masks_anew()
        second = recurrent(inputs[:, 2:], first.state)
    torch.testing.assert_close(torch.cat([first.outputs, second.outputs], 1), whole.outputs)


def test_a_stack_gives_every_layer_its_rate() -> None:
    """The gates drop the inputs; the stack does not drop them once more."""
    rates: dict[str, Any] = {"dropout_input": 0.1, "dropout_hidden": 0.2, "recurrent_dropout": 0.3}
    sizes: dict[str, Any] = {"num_layers": 3, "hidden_size": SIZE, "masks_per_gate": True}
    stack = Stack(SIZE, StackConfig(**rates, **sizes)).double()
    directions = [direction for layer in stack.layers for direction in layer.directions]
    assert [each.gate_dropout for each in directions] == [0.1, 0.2, 0.2]
    inputs = random(B, T, SIZE)
    torch.manual_seed(1)
    found = stack(inputs).outputs
    torch.manual_seed(1)
    expected = inputs
    for direction in directions:
        expected = direction(expected).outputs
    assert torch.equal(found, expected)


def test_without_rates_the_fast_way_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    stack = Stack(SIZE, StackConfig(hidden_size=SIZE, masks_per_gate=True))
    monkeypatch.setattr(GateDropout, "step", None)
    stack(torch.zeros(B, T, SIZE))


def test_settings_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match=r"^masks_per_gate=true: the masks .*; set locked=true$"):
        StackConfig(masks_per_gate=True, locked=False)
    with pytest.raises(InputError, match=r"^masks_per_gate=true: the cell 'mogrifier' reads"):
        Stack(SIZE, StackConfig(cell="mogrifier", hidden_size=SIZE, masks_per_gate=True))
    with pytest.raises(InputError, match=r"^model\.masks_per_gate=true: a decoder has one mask"):
        EncoderDecoderConfig(masks_per_gate=True)
    with pytest.raises(InputError, match="gate_dropout=1.0"):
        Recurrent(CELLS["lstm"](3, 4), gate_dropout=1.0)
