"""The examples run, and show what they say they show."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
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


def test_reading_times_find_the_slopes_that_were_put_in(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    words = [f"w{number}" + "x" * (number % 5) for number in random.geometric(0.1, 3000)]
    surprisal = random.gamma(4, 2, 3000)
    unknown = random.random(3000) < 0.02
    times = 300 + 0.5 * surprisal + random.normal(0, 5, 3000)
    times[1:] += 2.0 * surprisal[:-1]
    times[2:] += 1.0 * surprisal[:-2]
    rows = zip(words, times, surprisal, unknown, strict=True)
    lines = [f"1\t{word}\t{time}\t{bits}\t{int(oov)}" for word, time, bits, oov in rows]
    header = "item\tword\trt\tsurprisal_lm\tunknown_lm"
    (tmp_path / "joined.tsv").write_text("\n".join([header, *lines]))
    (tmp_path / "text.txt").write_text(" ".join(words))
    shown = run(
        "reading_times.py", "joined.tsv", "--time", "rt", "--frequencies", "text.txt",
        folder=tmp_path,
    )  # fmt: skip
    assert f"{unknown.sum():,} out of vocabulary" in shown
    slopes = [
        float(line.split(" ms")[0].split()[-1]) for line in shown.splitlines() if " ms" in line
    ]
    assert slopes == pytest.approx([0.5, 2.0, 1.0], abs=0.1)
