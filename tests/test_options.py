"""Options of cells, inputs, outputs and smoothers, and refusals of others."""

from dataclasses import dataclass

import pytest

from elman.cells import CELLS
from elman.counts.smoothers import SMOOTHERS
from elman.errors import InputError
from elman.layers.inputs import INPUTS
from elman.layers.outputs import OUTPUTS
from elman.registry import check_options, convert_options, known_options


def test_options_are_the_arguments_with_a_default() -> None:
    assert known_options(CELLS["highway"]) == {"depth": int, "transform_bias": float}
    assert known_options(CELLS["elman"]) == {"activation": str}
    assert known_options(CELLS["gru"]) == {}


@pytest.mark.parametrize("cell", ["lstm-f", "lstm-i", "lstm-o", "lstm-b"])
def test_an_ablation_has_the_options_of_the_lstm(cell) -> None:
    assert known_options(CELLS[cell]) == known_options(CELLS["lstm"])


def test_values_become_what_the_option_is() -> None:
    found = check_options(CELLS, "lstm", {"forget_bias": 1, "projection": 2.0, "cell_clip": None})
    assert found == {"forget_bias": 1.0, "projection": 2, "cell_clip": None}
    assert [type(value) for value in found.values()] == [float, int, type(None)]


def test_an_option_without_a_type_is_handed_on_as_it_is(monkeypatch) -> None:
    class Own(CELLS["elman"]):
        def __init__(self, input_size, hidden_size, flag=False):
            super().__init__(input_size, hidden_size)

    monkeypatch.setitem(CELLS, "own", Own)
    assert check_options(CELLS, "own", {"flag": True}) == {"flag": True}


@pytest.mark.parametrize(
    ("cell", "options", "message"),
    [
        ("lstm", {"forget_bais": 1}, "unknown option 'forget_bais'.*did you mean 'forget_bias'"),
        ("lstm-b", {"options": 1}, "unknown option 'options' of the cell 'lstm-b'"),
        ("gru", {"clip": 1}, "unknown option 'clip' of the cell 'gru'; it has none"),
        ("lstm", {"hidden_size": 1}, "unknown option 'hidden_size'"),
        ("lstm", {1: 2}, "unknown option 1 of the cell 'lstm'; known: cell_clip"),
        ("lstm", {"forget_bias": "1"}, "options.forget_bias='1': expected a number$"),
        ("lstm", {"second_bias": "no"}, "options.second_bias='no': expected true or false$"),
        ("lstm", {"projection": 2.5}, "options.projection=2.5: expected a whole number or none$"),
        ("highway", {"depth": [5]}, r"options.depth=\[5\]: expected a whole number$"),
        ("elman", {"activation": None}, "options.activation=None: expected a word$"),
        ("lstn", {}, "unknown cell 'lstn'; did you mean 'lstm'"),
    ],
)
def test_others_are_refused(cell, options, message) -> None:
    with pytest.raises(InputError, match=message):
        check_options(CELLS, cell, options)


def test_inputs_and_outputs_have_options_too() -> None:
    assert known_options(OUTPUTS["full"]) == {"smoothing": float}
    assert known_options(OUTPUTS["nce"]) == {"samples": int, "noise_power": float}
    assert set(known_options(INPUTS["characters"])) >= {"widths", "filters", "highways"}
    found = check_options(INPUTS, "characters", {"widths": [1, 2], "filters": [3, 4]})
    assert found == {"widths": (1, 2), "filters": (3, 4)}
    with pytest.raises(InputError, match="unknown option 'sample' of the output 'nce'"):
        check_options(OUTPUTS, "nce", {"sample": 3})


def test_smoothers_have_options_too() -> None:
    assert known_options(SMOOTHERS["add-delta"]) == {"delta": float}
    assert known_options(SMOOTHERS["modified-kneser-ney"]) == {}
    with pytest.raises(InputError, match=r"model\.options\.delta='x': expected a number$"):
        check_options(SMOOTHERS, "add-delta", {"delta": "x"}, "model.options")


def test_fields_of_a_dataclass_are_options() -> None:
    @dataclass
    class Example:
        size: int
        rate: float = 0.5

    assert known_options(Example) == {"rate": float}
    assert convert_options(Example, {"rate": 1}, "the example", "here") == {"rate": 1.0}
    with pytest.raises(InputError, match="unknown option 'rat' of the example; did you mean"):
        convert_options(Example, {"rat": 1}, "the example", "here")
