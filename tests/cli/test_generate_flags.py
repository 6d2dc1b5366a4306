"""The flags of `elman generate` are the decoding options, with their descriptions."""

import re
from dataclasses import fields

import pytest

from elman.cli import run
from elman.decoding.options import DecodingOptions
from elman.decoding.transforms import TRANSFORMS


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> str:
    """The help, on one line and without its frame."""
    assert run(["generate", "--help"]) == 0
    return " ".join(re.sub("[│╭╮╰╯─]", " ", capsys.readouterr().out).split())


def test_every_option_that_describes_itself_is_a_flag(shown: str) -> None:
    described = [knob for knob in fields(DecodingOptions) if knob.metadata]
    assert len(described) == len(TRANSFORMS) + 11
    for knob in described:
        about = knob.metadata["about"]
        flag = "--" + knob.name.replace("_", "-")
        assert re.search(
            rf"{flag}( INT| FLOAT)? {re.escape(about[0].upper() + about[1:])}\.", shown
        )


@pytest.mark.parametrize("name", TRANSFORMS)
def test_every_transform_is_a_flag(name: str, shown: str) -> None:
    flag = "--" + TRANSFORMS[name].option.replace("_", "-")
    kind = {int: "INT", float: "FLOAT"}[TRANSFORMS[name].kind]
    assert f"{flag} {kind} " in shown
    assert TRANSFORMS[name].about[1:] in shown
