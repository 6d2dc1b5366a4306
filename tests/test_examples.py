"""The examples run, and show what they say they show."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(example: str, *arguments: str, folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / example), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_maximum_likelihood_arrives(tmp_path: Path) -> None:
    shown = run("maximum_likelihood.py", "--picture", "bell.png", folder=tmp_path)
    rows = [[float(n) for n in line.split()[1:]] for line in shown.splitlines()[1:]]
    assert rows[-2] == pytest.approx(rows[-1], abs=2e-3)
    assert rows[0][2] > rows[1][2] > rows[2][2] > rows[-1][2]
    assert (tmp_path / "bell.png").stat().st_size > 5000


def test_regression_needs_a_bend(tmp_path: Path) -> None:
    shown = run("regression.py", "--picture", "fits.png", folder=tmp_path)
    errors = {line.split()[0]: float(line.split()[1]) for line in shown.splitlines()[1:]}
    assert errors["identity"] > 20 * errors["tanh"]
    assert errors["tanh"] < 2 * errors["(noise)"]
    assert (tmp_path / "fits.png").stat().st_size > 5000


def test_surnames(tmp_path: Path, corpus: Callable[[str], Path]) -> None:
    folder = tmp_path / "lists"
    folder.mkdir()
    for language in ("Japanese", "Italian", "Russian"):  # some of each, for the sake of time
        lines = (corpus("names") / "names" / f"{language}.txt").read_text("utf-8").splitlines()
        (folder / f"{language}.txt").write_text("\n".join(lines[:600]), "utf-8")
    options = ("--epochs", "15", "--names", "Rossini", "Takahashi")
    shown = run("surnames.py", "lists", *options, folder=tmp_path)
    names, _, guesses = shown.partition("\n\n")
    assert [line.split()[0] for line in names.splitlines()] == ["Italian", "Japanese", "Russian"]
    assert [line.split()[1] for line in guesses.splitlines()] == ["Italian", "Japanese"]
