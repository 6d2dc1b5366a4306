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


def test_links_lead_somewhere() -> None:
    for name in ["README.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]:
        text = (ROOT / name).read_text(encoding="utf-8")
        text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)  # code has brackets of its own
        for link in re.findall(r"\]\(([^)#]+)\)", text):
            assert ((ROOT / name).parent / link).exists(), f"{name}: {link}"
