"""The README is true: its commands run, and CI calls its test command."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import elman
from elman.cli import command_names, run
from elman.experiments.reproduce.registry import read_tables
from elman.experiments.reproduce.shipped import read_shipped

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PACKAGE = Path(elman.__file__).parent


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def commands() -> list[str]:
    lines = [line for block in blocks("bash") for line in block.splitlines()]
    return [line for line in lines if line.startswith("elman ")]


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


def test_ci_calls_the_test_command() -> None:
    assert "pip install -e '.[dev]' && pytest" in README
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "pip install -e '.[dev]'" in script
    assert "&& pytest\n" in script


@pytest.mark.parametrize("command", command_names())
def test_every_command_is_in_the_guide_or_readme(command: str) -> None:
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    assert f"elman {command}" in README + guide


# The rows of the table at its top, and the published table and row that stands behind each.
FIGURES = {
    "trigram, add one (Laplace)": "ours/trigram-laplace",
    "5-gram, modified Kneser–Ney": "ptb/kn5",
    "the same with a cache": "ptb/kn5-cache",
    "feed-forward, five words seen (`bengio`)": "ptb/feed-forward-ours",
    "Elman network (`mikolov`)": "ptb/recurrent-ours",
    "LSTM 2 × 200 (`zaremba-small`)": "ours/zaremba-small",
    "LSTM, recipe `quick` (70 teraflop)": "ours/quick",
    "LSTM, recipe `hour` (400 teraflop)": "ours/hour",
    "the same with a continuous cache": "ours/hour-continuous-cache",
    "the same, going on learning from the text (dynamic evaluation)": "ours/hour-dynamic",
    "all of it, mixed with the 5-gram": "ours/hour-all",
}


def test_every_figure_has_a_row_of_a_table() -> None:
    tables, shipped = read_tables(), read_shipped()
    lines = re.findall(r"^\| ([^|]+) \| ([^|]+) \| \**([\d.]+)\** \|", README, flags=re.MULTILINE)
    assert {line[0] for line in lines} == set(FIGURES), "name the row behind each figure in FIGURES"
    for label, published, measured in lines:
        table, _, name = FIGURES[label].partition("/")
        row = tables[table].row(name)
        assert published in ("–", str(row.published)), label
        result = shipped.of(tables[table], row)
        if result is not None:  # else it waits for its turn
            assert result.measured == pytest.approx(float(measured), rel=0.002), label


def test_links_lead_somewhere() -> None:
    for name in ["README.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]:
        text = (ROOT / name).read_text(encoding="utf-8")
        text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)  # code has brackets of its own
        for link in re.findall(r"\]\(([^)#]+)\)", text):
            assert ((ROOT / name).parent / link).exists(), f"{name}: {link}"
