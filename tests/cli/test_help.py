"""The help of every command, the groups, and the version."""

import inspect
from typing import Any

import pytest

import elman
from elman.cli import RENAMED, build_app, command_names, commands_by_group, load_command

COMMANDS = command_names()


def test_help_lists_every_command_under_its_group(says: Any) -> None:
    shown = says("--help")
    for group, commands in commands_by_group().items():
        part = shown.split(f"─ {group} ─", 1)[1].split("╰", 1)[0]
        listed = [line.strip("│ ").split(" ")[0] for line in part.splitlines()]
        assert {name.split()[0] for name in commands} <= set(listed)
    assert not any(f"│ {name} " in shown for name in RENAMED)


def test_the_studies_are_listed(says: Any) -> None:
    listed = [line.strip("│ ").split(" ")[0] for line in says("study", "--help").splitlines()]
    assert {name.split()[1] for name in COMMANDS if name.startswith("study ")} <= set(listed)


@pytest.mark.parametrize("group", commands_by_group())
def test_summaries_are_the_first_sentences_of_the_docstrings(group: str) -> None:
    for name, summary in commands_by_group()[group].items():
        assert (inspect.getdoc(load_command(name)) or "").split("\n\n")[0] == summary


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example_and_says_what_its_parameters_are(
    says: Any, command: str
) -> None:
    app = build_app(command)
    for word in command.split():
        app = app[word]
    for argument in app.assemble_argument_collection(parse_docstring=True):
        assert argument.parameter.help or not argument.show, argument.name
    shown = says(*command.split(), "--help")
    assert f"elman {command}" in shown.split("For example:", 1)[1]
    assert "--json" in shown
    assert "\x1b" not in shown  # no colours in a pipe


def test_version(says: Any) -> None:
    assert says("--version").strip() == elman.__version__
