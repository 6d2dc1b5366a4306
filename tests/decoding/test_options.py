"""Decoding options: refusals, temperature 0, descriptions that match the code."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import pytest

from elman.decoding.options import STRATEGIES, DecodingOptions
from elman.decoding.transforms import TRANSFORMS
from elman.errors import InputError

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"max_tokens": -1}, "max_tokens is -1"),
    ({"samples": 0}, "samples is 0"),
    ({"n_best": 0, "beam": 2}, "n_best is 0"),
    ({"seed": -1}, "seed is -1"),
    ({"beam": 0}, "beam is 0"),
    ({"temperature": -0.1}, "temperature is -0.1"),
    ({"temperature": math.nan}, "temperature is nan"),
    ({"temperature": math.inf}, "temperature is inf"),
    ({"softmax_alpha": -1.0}, "softmax_alpha is -1.0"),
    ({"softmax_alpha": math.inf}, "softmax_alpha is inf"),
    ({"top_k": 0}, "top_k is 0"),
    ({"logit_bias": ((-1, 1.0),)}, "logit_bias: id -1 is negative"),
    ({"logit_bias": ((1, float("nan")),)}, "logit_bias of 1 is nan"),
    ({"logit_bias": ((1, 1.0),), "beam": 2}, "leave out the penalties and logit_bias"),
    ({"top_p": 0.0}, "top_p is 0.0"),
    ({"top_p": 1.1}, "top_p is 1.1"),
    ({"top_p": math.nan}, "top_p is nan"),
    ({"min_p": -0.1}, "min_p is -0.1"),
    ({"min_p": 1.1}, "min_p is 1.1"),
    ({"frequency_penalty": math.inf}, "frequency_penalty is inf"),
    ({"presence_penalty": math.nan}, "presence_penalty is nan"),
    ({"length_penalty": math.nan, "beam": 2}, "length_penalty is nan"),
    ({"repetition_penalty": 0.0}, "repetition_penalty is 0.0"),
    ({"banned": (-1,)}, "banned: id -1"),
    ({"banned": (3, 4), "forced": (4,)}, r"\[4\] are both banned and forced"),
    ({"forced": (1, 2), "max_tokens": 1}, "2 tokens are forced"),
    ({"forced": (1, 2), "stop_ids": (1,)}, "a stop id is forced"),
    ({"greedy": True, "temperature": 0.5}, "greedy takes no temperature"),
    ({"softmax_alpha": 2.0, "temperature": 0.5}, "leave out one of the two"),
    ({"n_best": 2}, "n_best is for beam search"),
    ({"length_penalty": 0.6}, "length_penalty is for beam search"),
    ({"beam": 2, "n_best": 3}, "n_best is 3 but beam is 2"),
    ({"beam": 2, "samples": 2}, "does not sample; use n_best"),
    ({"beam": 2, "temperature": 0.5}, "does not sample; leave out beam"),
    ({"beam": 2, "softmax_alpha": 2.0}, "does not sample; leave out beam"),
    ({"beam": 2, "top_k": 5}, "does not sample; leave out beam"),
    ({"beam": 2, "top_p": 0.5}, "does not sample; leave out beam"),
    ({"beam": 2, "min_p": 0.5}, "does not sample; leave out beam"),
    ({"beam": 2, "greedy": True}, "does not sample; leave out beam"),
    ({"beam": 2, "repetition_penalty": 1.2}, "leave out the penalties"),
    ({"beam": 2, "presence_penalty": 0.5}, "leave out the penalties"),
]

ACCEPTED: list[dict[str, Any]] = [
    {},
    {"temperature": 0.0, "top_p": 0.9, "samples": 3},  # what chat clients send for "be precise"
    {"temperature": 0.7, "top_k": 40, "top_p": 0.9, "min_p": 0.05},
    {"frequency_penalty": -2.0, "presence_penalty": 2.0, "repetition_penalty": 1.3},
    {"forced": (1, 2), "stop_ids": (2,)},
    {"banned": (2,), "stop_ids": (2,)},
    {"beam": 4, "n_best": 4, "length_penalty": 0.6, "banned": (1,), "forced": (2,)},
    {"max_tokens": 0},
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as refusal:
        DecodingOptions(**arguments)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("arguments", ACCEPTED)
def test_accepted(arguments: dict[str, Any]) -> None:
    DecodingOptions(**arguments)


def test_by_default_nothing_is_reshaped() -> None:
    assert DecodingOptions().transforms() == {}
    assert not DecodingOptions().penalises


@pytest.mark.parametrize("options", [DecodingOptions(greedy=True), DecodingOptions(temperature=0)])
def test_temperature_zero_is_greedy(options: DecodingOptions) -> None:
    assert options.transforms() == {"top-k": 1}


def test_transforms_are_named_and_ordered_like_the_dict() -> None:
    tempered = DecodingOptions(min_p=0.1, top_p=0.9, top_k=5, temperature=0.7)
    assert tempered.transforms() == {"temperature": 0.7, "top-k": 5, "top-p": 0.9, "min-p": 0.1}
    softmax = DecodingOptions(min_p=0.1, softmax_alpha=2.0).transforms()
    for asked in (list(tempered.transforms()), list(softmax)):
        assert asked == [name for name in TRANSFORMS if name in asked]


@pytest.mark.parametrize("name", ["banned", "forced", "stop_ids"])
def test_ids_beyond_the_vocabulary_are_refused(name: str) -> None:
    arguments: dict[str, Any] = {name: (6,)}
    options = DecodingOptions(**arguments)
    options.check_vocabulary(7)
    with pytest.raises(InputError, match=f"{name}: id 6"):
        options.check_vocabulary(6)


def test_every_transform_is_described() -> None:
    assert [*STRATEGIES] == ["pure-sampling", "greedy", *TRANSFORMS, "beam"]
    assert all(STRATEGIES.values())


def test_an_option_that_no_transform_has_is_an_error() -> None:
    with pytest.raises(TypeError, match="temprature"):
        DecodingOptions(temprature=2)


def test_the_options_do_without_torch() -> None:
    code = "import sys, elman.decoding.options; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
