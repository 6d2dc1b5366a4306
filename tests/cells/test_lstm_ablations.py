"""LSTM-f, -i, -o and -b against their equations."""

import pytest
import torch

from elman.cells.engine import run
from elman.cells.lstm import LSTM
from elman.cells.lstm_variants import BiasedLSTM, NoForgetLSTM, NoInputLSTM, NoOutputLSTM
from elman.errors import InputError

INPUT, HIDDEN = 2, 3
KINDS = {LSTM: "ifgo", NoForgetLSTM: "igo", NoInputLSTM: "fgo", NoOutputLSTM: "ifg"}


@pytest.mark.parametrize(("kind", "letters"), KINDS.items(), ids=KINDS.values())
def test_equations(kind, letters, build, gates_of, assert_equals_naive) -> None:
    cell, weights = build(kind(INPUT, HIDDEN))
    assert weights["gates_input"].shape == (len(letters) * HIDDEN, INPUT)
    gates = dict(zip(letters, gates_of(weights, "gates", HIDDEN, len(letters)), strict=True))

    def naive(x, state):
        h, c = state

        def gate(letter, function):
            if letter not in gates:
                return 1.0
            w = gates[letter]
            return function(x @ w.W.t() + h @ w.U.t() + w.b)

        sigmoid = torch.sigmoid
        c = gate("f", sigmoid) * c + gate("i", sigmoid) * gate("g", torch.tanh)
        return gate("o", sigmoid) * torch.tanh(c), c

    assert_equals_naive(cell, weights, naive)


@pytest.mark.parametrize(("kind", "start"), [(LSTM, 3), (NoInputLSTM, 0), (NoOutputLSTM, 3)])
def test_forget_bias_finds_its_rows(kind, start: int) -> None:
    cell = kind(INPUT, HIDDEN, forget_bias=10.0)
    weights = {name: torch.empty(shape) for name, shape in cell.shapes().items()}
    cell.initialise(weights)
    raised = (weights["gates_bias"] > 5).nonzero().flatten().tolist()
    assert raised == list(range(start, start + HIDDEN))


def test_without_a_forget_gate_a_bias_for_it_is_refused() -> None:
    with pytest.raises(InputError, match="no forget gate"):
        NoForgetLSTM(INPUT, HIDDEN, forget_bias=10.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"projection": 0}, "projection=0: must be at least 1"),
        ({"cell_clip": -1.0}, "cell_clip=-1.0: must be above 0"),
        ({"projection_clip": 3.0}, "no projection to clip"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LSTM(INPUT, HIDDEN, **options)  # type: ignore[arg-type]


def test_biased_lstm_is_an_lstm_that_starts_remembering() -> None:
    assert LSTM(INPUT, HIDDEN).forget_bias == 0
    assert BiasedLSTM(INPUT, HIDDEN).forget_bias == 1
    assert BiasedLSTM(INPUT, HIDDEN, projection=2).state_sizes == (2, HIDDEN)


def test_trace_has_the_gates_that_are_there(build) -> None:
    for kind, letters in KINDS.items():
        cell, weights = build(kind(INPUT, HIDDEN))
        trace = run(cell, weights, torch.randn(1, 2, INPUT).double(), trace=True).trace
        names = {"i": "input", "f": "forget", "g": "candidate", "o": "output"}
        assert trace.keys() == {"hidden", "cell"} | {names[letter] for letter in letters}
