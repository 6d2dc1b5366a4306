"""The help of every command, and the version."""

from typing import Any

import pytest

import elman
from elman.cli import COMMANDS, app


def test_help_lists_every_command(says: Any) -> None:
    lines = [line.strip("│ ").split(" ")[0] for line in says("--help").splitlines()]
    assert set(COMMANDS) <= set(lines)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example_and_says_what_its_parameters_are(
    says: Any, command: str
) -> None:
    for argument in app[command].assemble_argument_collection(parse_docstring=True):
        assert argument.parameter.help or not argument.show, argument.name
    shown = says(command, "--help")
    assert f"elman {command}" in shown.split("For example:", 1)[1]
    assert "--json" in shown
    assert "\x1b" not in shown  # no colours in a pipe


def test_version(says: Any) -> None:
    assert says("--version").strip() == elman.__version__
