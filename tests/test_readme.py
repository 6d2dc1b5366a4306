"""The README is true: its commands run, its tree is whole, and CI calls its test command."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import elman
from elman.cli import COMMANDS, run

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


def chosen_by_name() -> set[str]:
    """Files that a registry names: `elman list` shows what they are, as it does recipes."""
    rooms = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("__init__.py")]
    registries = "".join(text for text in rooms if "Registry(" in text)
    places = re.findall(r'": "elman\.([\w.]+)(?::\w+)?"', registries)
    return {place.rpartition(".")[2] + ".py" for place in places}


def test_the_tree_names_every_file() -> None:
    tree = README.rpartition("## The tree")[2]
    modules = {p.name for p in PACKAGE.rglob("*.py") if p.name != "__init__.py"}
    files = [*(modules - chosen_by_name())]
    files += [p.name for p in (ROOT / "benchmarks").glob("*.py")]
    files += [p.stem for p in (PACKAGE / "reproduce").rglob("*.toml")]
    missing = [name for name in files if name not in tree]
    assert not missing
    named = re.findall(r"\b[a-z_]+\.py\b", tree)
    assert set(named) <= {p.name for p in ROOT.rglob("*.py")}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_the_guide_or_readme(command: str) -> None:
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    assert f"elman {command}" in README + guide


def test_links_lead_somewhere() -> None:
    for name in ["README.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]:
        text = (ROOT / name).read_text(encoding="utf-8")
        text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)  # code has brackets of its own
        for link in re.findall(r"\]\(([^)#]+)\)", text):
            assert ((ROOT / name).parent / link).exists(), f"{name}: {link}"
