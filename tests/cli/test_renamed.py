"""Command names of 0.1 still work and print the new name."""

from typing import Any

import pytest

from elman.cli import RENAMED, command_names


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_old_names_say_the_new_one(call: Any, old: str, new: str) -> None:
    assert new in command_names()
    result = call(old, "--help")
    assert result.code == 0
    assert result.err == f"elman: {old} is now {new}: elman {new}\n"
    assert result.out == call(*new.split(), "--help").out


def test_inspect_without_a_run_trains_cells(call: Any) -> None:
    result = call("inspect", "--cells", "lstm,", "--data", "tickets:lines=40")
    assert result.code == 2
    notice, problem = result.err.splitlines()
    assert notice == "note: inspect without a run is now study cells: elman study cells"
    assert "unknown cell ''" in problem
