"""The commands of the course run one after the other, and its marks are right."""

import re
import shlex
from pathlib import Path

import pytest

from elman.cli import called_command, run

PAGE = (Path(__file__).parents[1] / "docs" / "course.md").read_text(encoding="utf-8")
LONG = "⏱"
FOREIGN = "📁"


def rows() -> list[tuple[str, bool]]:
    """Every command of the page in order, and whether it runs here in seconds."""
    found = [(line, True) for line in PAGE.splitlines() if line.startswith("elman ")]
    for line in PAGE.partition("## 1.")[2].splitlines():
        cells = line.split(" | ")
        if line.startswith("| ") and len(cells) == 3:
            commands = re.findall(r"`((?:elman|python) [^`]+)`", cells[1])
            found += [(command, not {LONG, FOREIGN} & set(line)) for command in commands]
    return found


def test_every_row_names_a_command_there_is() -> None:
    assert len(rows()) > 70
    for command, _ in rows():
        program, name, *_ = command.split()
        if program == "elman":
            assert called_command(command.split()[1:]), command
        else:
            assert (Path(__file__).parents[1] / name).is_file(), command


def shortened(command: str) -> list[str]:
    """The arguments; trainings of networks are cut short, since only their commands are tried."""
    arguments = shlex.split(command)[1:]
    cut = ["training.epochs=0.02", "model.hidden_size=16", "model.embedding_size=16"]
    if arguments[0] == "train" and arguments[1:2] in (["small"], ["bengio"]):
        return [*arguments, *(word for setting in cut for word in ("--set", setting))]
    return arguments


def test_what_has_no_mark_runs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    without_curves: None,
) -> None:
    monkeypatch.chdir(tmp_path)
    for command, quick in rows():
        if quick and command.startswith("elman"):
            code = run(shortened(command))
            out, err = capsys.readouterr()
            assert code == 0, f"{command}\n{err}"
            assert out.strip(), command
