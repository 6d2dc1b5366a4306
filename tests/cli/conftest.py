"""Shared by tests of commands: a folder with texts and runs, and functions to call commands."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import elman
from elman.cli import run

Capture = pytest.CaptureFixture[str]


def _sentences(lines: int, seed: int) -> str:
    random = np.random.default_rng(seed)
    nouns, verbs = ("cat", "dog", "bird"), ("sees", "hears", "likes")
    return "".join(
        f"the {nouns[a]} {verbs[a - 1]} a {nouns[b]} .\n"
        for a, b in random.integers(0, 3, (lines, 2))
    )


@pytest.fixture(scope="session")
def sentences() -> Callable[[int, int], str]:
    """So many lines of a small language, drawn with a seed."""
    return _sentences


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a text in three splits and three runs: words, laplace, letters."""
    place = tmp_path_factory.mktemp("place")
    (place / "data").mkdir()
    for number, (split, lines) in enumerate({"train": 200, "valid": 40, "test": 40}.items()):
        (place / "data" / f"{split}.txt").write_text(_sentences(lines, number))
    data = str(place / "data")
    elman.train("ngram", data=data, out=place / "words")
    elman.train("laplace", data=data, out=place / "laplace")
    elman.train("ngram-characters", data=data, out=place / "letters")
    return place


@pytest.fixture
def call(place: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command line inside the place; exit code, output, error output."""
    monkeypatch.chdir(place)

    def calling(*arguments: str) -> SimpleNamespace:
        capsys.readouterr()
        code = run(list(arguments))
        printed = capsys.readouterr()
        return SimpleNamespace(code=code, out=printed.out, err=printed.err)

    return calling


@pytest.fixture
def says(call: Any) -> Any:
    """The output of a command that must succeed."""

    def saying(*arguments: str) -> str:
        result = call(*arguments)
        said = [line for line in result.err.splitlines() if not line.endswith("…")]
        assert result.code == 0
        assert all(line.startswith("note: ") for line in said), result.err
        return result.out

    return saying


@pytest.fixture
def gives(says: Any) -> Any:
    """The data that a command prints with --json."""

    def giving(*arguments: str) -> Any:
        return json.loads(says(*arguments, "--json"))

    return giving
