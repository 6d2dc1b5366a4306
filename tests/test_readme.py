"""The README is short and true: its commands run, its figures are those of results.json."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import elman
from elman.cli import run

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
RESULTS = json.loads((ROOT / "docs" / "results.json").read_text(encoding="utf-8"))["results"]
PACKAGE = Path(elman.__file__).parent
# Numbers that are no results: versions of Python and of the licence.
_NO_RESULTS = ("Python 3.11", "Apache 2.0")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def commands() -> list[str]:
    lines = [line for block in blocks("bash") for line in block.splitlines()]
    return [line for line in lines if line.startswith("elman ")]


def figures() -> list[tuple[str, str, str, str]]:
    """Published, measured, training time and name of every row of the table of results."""
    found = re.findall(r"\| ([^|]+) \| ([^|]+) \| ([^|]+) \| `(\w[\w-]*/[\w-]+)` \|", README)
    return [(one.strip(), two.strip(), three.strip(), name) for one, two, three, name in found]


def shown_time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def test_it_is_read_in_a_minute() -> None:
    assert len(README.splitlines()) < 150


def test_commands_run_one_after_the_other(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(commands()) >= 6
    for command in commands():
        assert run(shlex.split(command, comments=True)[1:]) == 0, command
        assert capsys.readouterr().out.strip()


def test_python_runs(tmp_path) -> None:
    (code,) = blocks("python")
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert "boys who" in done.stdout


def test_every_figure_of_the_table_is_a_measured_row() -> None:
    assert len(figures()) >= 5
    for published, measured, training, name in figures():
        row = RESULTS[name]
        assert published == ("–" if row["published"] is None else f"{row['published']:g}"), name
        assert measured == f"{row['measured']:.2f}", name
        assert training == shown_time(row["training_seconds"]), name


def test_no_other_figure_is_claimed() -> None:
    text = re.sub(r"```.*?```|`[^`]*`|\([^)]*\)", "", README, flags=re.DOTALL)  # code, links
    table = [line for line in text.splitlines() if not line.startswith("|")]
    prose = "\n".join(table)
    for known in _NO_RESULTS:
        prose = prose.replace(known, "")
    assert re.findall(r"\d+(?:\.\d+)?(?: ?%| times| ?×|\b)", prose) == []


def test_ci_calls_the_test_command() -> None:
    assert "pip install -e '.[dev]' && pytest" in README
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "pip install -e '.[dev]'" in script
    assert "&& pytest\n" in script
