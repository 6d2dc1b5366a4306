"""Traces of cells: units, saturation, and units that follow a signal."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from elman.insight.followers import Followers, signals
from elman.insight.insight import Subject
from elman.insight.recording import activations
from elman.insight.units import SHOWN, Saturation, Units

IDS = [3, 1, 4, 1, 5, 9, 2, 6]


def test_activations_are_what_the_cell_computes(subject: Callable[..., Subject]) -> None:
    given = subject(IDS, cell="lstm", num_layers=2)
    found = activations(given)
    model = given.model
    with torch.no_grad():
        ids = torch.tensor([[0, *IDS]])
        run = model.stack(model.input(ids), model.begin(1)[0], trace=True)
    for number, (trace,) in enumerate(run.trace, 1):
        for name in ("hidden", "cell", "input", "forget", "output", "candidate"):
            expected = trace[name][0, 1:].numpy()  # without the start
            np.testing.assert_allclose(found[f"layer {number} {name}"], expected)
    assert len(found) == 12


def test_the_units_that_move_most_are_shown(subject: Callable[..., Subject]) -> None:
    given = subject(IDS, cell="gru", hidden_size=40)
    seen = Units.look(given)
    hidden = activations(given)["layer 1 hidden"]
    shown = seen.numbers["layer 1 hidden"]
    assert len(shown) == SHOWN
    assert seen.values["layer 1 hidden"].shape == (SHOWN, len(IDS))
    np.testing.assert_array_equal(seen.values["layer 1 hidden"][0], hidden[:, shown[0] - 1])
    assert hidden.std(0).max() == hidden[:, shown[0] - 1].std()
    assert {*seen.means} == {"layer 1 update", "layer 1 reset"}
    kinds = [drawing.kind for drawing in seen.drawings()]
    assert kinds == ["curves", "heatMap", "heatMap", "heatMap"]


def test_a_network_without_gates_has_no_gates(subject: Callable[..., Subject]) -> None:
    given = subject(IDS, cell="elman")
    assert not Units.look(given).means
    assert [kind.gate for kind in Saturation.look(given).kinds] == [False]


def test_gates_with_large_biases_are_saturated(subject: Callable[..., Subject]) -> None:
    given = subject(IDS, cell="lstm", hidden_size=4)
    with torch.no_grad():
        bias = given.model.stack.layers[0].directions[0].weights["gates_bias"]
        bias[:4], bias[4:8], bias[12:] = -50.0, 50.0, 0.0  # input shut, forget open
    kinds = {kind.name: kind for kind in Saturation.look(given).kinds}
    shut, opened = kinds["layer 1 input"], kinds["layer 1 forget"]
    assert (shut.low, shut.high, shut.always_low) == (1.0, 0.0, 4)
    assert (opened.low, opened.high, opened.always_high) == (0.0, 1.0, 4)
    assert kinds["layer 1 output"].low < 1


def test_signals_of_a_text() -> None:
    pieces = [
        "He",
        " said",
        ' "',
        "no",
        ' "',
        " (",
        "and",
        " [",
        "left",
        "])",
        ".",
        "\n",
        "So",
        ".",
    ]
    found = {name.split()[-1]: values.tolist() for name, values in signals(pieces).items()}
    assert found["quotes"] == [0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    assert found["brackets"] == [0, 0, 0, 0, 0, 1, 1, 2, 2, 0, 0, 0, 0, 0]
    both = [values.tolist() for name, values in signals(pieces).items() if "began" in name]
    assert both[0] == [2, 7, 9, 11, 13, 15, 18, 20, 24, 26, 27, 0, 2, 3]  # characters
    assert both[1] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2]  # tokens


def test_signals_know_treebanks_and_typography() -> None:
    found = signals([" ``", " yes", " ''", " “", "no", "”", "."])
    assert found["inside quotes"].tolist() == [1, 1, 0, 1, 1, 0, 0]


def test_a_unit_that_counts_is_found(subject: Callable[..., Subject]) -> None:
    """One unit adds up a half for every token: it follows the length of the sentence exactly."""
    given = subject([1, 2, 3, 4, 5, 6, 7, 8], cell="elman", options={"activation": "relu"})
    weights = given.model.stack.layers[0].directions[0].weights
    with torch.no_grad():
        weights["hidden_state"][2] = 0.0
        weights["hidden_state"][2, 2] = 1.0
        weights["hidden_input"][2] = 0.0
        weights["hidden_bias"][2] = 0.5
    seen = Followers.look(given)
    sentence = next(one for one in seen.followed if "sentence" in one.signal)
    assert (sentence.best[0].layer, sentence.best[0].unit) == ("layer 1 hidden", 3)
    assert sentence.best[0].correlation == pytest.approx(1.0)
    assert sentence.chance < 1.0
    assert "inside quotes" in seen.absent


def test_units_that_never_move_follow_nothing(subject: Callable[..., Subject]) -> None:
    given = subject([1, 2, 3, 4], cell="elman", options={"activation": "relu"})
    with torch.no_grad():
        given.model.stack.layers[0].directions[0].weights["hidden_bias"].fill_(-1e6)
    seen = Followers.look(given)
    assert all(one.best[0].correlation == 0 for one in seen.followed)
