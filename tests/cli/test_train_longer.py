"""Every task whose validation still improves prints a command that trains it for longer."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from task_runs import TRAININGS

from elman import cli
from elman.runs.folder import read_run
from elman.tasks import training_run

pytestmark = pytest.mark.usefixtures("without_curves")

SAID = "validation was still improving; to train for longer: "
_NOT_BY_GRADIENT = ("counting", "embedding")  # the second is saved without a training


@pytest.mark.parametrize("task", [name for name in TRAININGS if name not in _NOT_BY_GRADIENT])
def test_the_command_that_is_printed_trains_for_longer(
    task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    validations: list[Any] = []

    def improving(records: list[dict[str, Any]], judged_by: str) -> bool:
        validations[:] = [record for record in records if f"valid_{judged_by}" in record]
        return bool(validations)

    monkeypatch.setattr(training_run, "still_improving", improving)
    TRAININGS[task](tmp_path)
    run = tmp_path / "run"
    before = read_run(run)["facts.json"]["training"]
    assert validations, "the criterion of this task is not in its history"
    assert cli.run(["train", "--resume", str(run)]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith(SAID)]
    assert cli.run(shlex.split(line.removeprefix(SAID))[1:]) == 0
    after = read_run(run)["facts.json"]["training"]
    assert after["of_epochs"] == 2 * before["of_epochs"]
    assert after["steps"] > before["steps"]
    assert after["finished"]
