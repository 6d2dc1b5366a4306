"""`elman reading-times` finds the slopes that were put in, and writes what it says."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import elman

SLOPES = (2.0, 5.0, 1.0)


@pytest.fixture(scope="module")
def table(place: Path) -> Path:
    """Times made from the surprisal of the run `words`, for eight subjects."""
    random = np.random.default_rng(0)
    words = "the cat dog bird sees hears likes a .".split()
    lines = [" ".join(random.choice(words, 8)) for _ in range(40)]
    model = elman.load(place / "words", elman.TrainedModel)
    rows = ["item\tword\tsubject\trt"]
    own = random.normal(0, 40, 8)
    for item, line in enumerate(lines):
        bits = [word.surprisal for word in model.surprisal(line)]
        for subject in range(8):
            for number, word in enumerate(line.split()):
                back = [bits[number - k] if number >= k else 0.0 for k in range(3)]
                time = 300 + own[subject] + np.dot(SLOPES, back) + random.normal(0, 5)
                rows.append(f"{item}\t{word}\ts{subject}\t{time:.3f}")
    file = place / "times.tsv"
    ordered = sorted(rows[1:], key=lambda row: (row.split("\t")[2], int(row.split("\t")[0])))
    file.write_text("\n".join([rows[0], *ordered]) + "\n")
    return file


def test_slopes_gain_and_files(call: Any, place: Path, table: Path) -> None:
    result = call(
        "reading-times", "times.tsv", "--run", "words", "--run", "other=letters",
        "--frequencies", "data", "--out", "study", "--json", "--draws", "200",
    )  # fmt: skip
    assert result.code == 0, result.err
    data = json.loads(result.out)
    first = data["results"][0]
    assert (first["run"], first["predictors"]) == ("words", "surprisal")
    for one, slope in zip(first["coefficients"], SLOPES, strict=True):
        assert abs(one["value"] - slope) < 4 * one["error"] < 2
    assert first["low"] < first["delta"] < first["high"]
    assert first["low"] > 0.1
    assert data["subjects"] == 8
    assert data["used"] == data["rows"] - sum(data["left_out"].values())
    assert data["left_out"] == {"without 2 words before them": 40 * 8 * 2}
    assert first["linearity"]["held_out"] < 0.02  # the truth is a line
    written = {path.name for path in (place / "study").iterdir()}
    assert written == {"words.tsv", "results.json", "reading-times.png", "repeat.R"}
    assert json.loads((place / "study" / "results.json").read_text()) == data
    header, *rows = (place / "study" / "words.tsv").read_text().splitlines()
    assert len(rows) == data["used"]
    script = (place / "study" / "repeat.R").read_text()
    named = {part for part in script.split('"') if part.startswith(("surprisal_", "length"))}
    assert named <= set(header.split("\t"))
    assert "surprisal_words_2back" in named


def test_the_table_for_people(says: Any, table: Path) -> None:
    shown = says(
        "reading-times", "times.tsv", "--run", "words", "--predictors", "surprisal",
        "--columns", "subject=subject", "--draws", "100",
    )  # fmt: skip
    assert "subjects: 8, each with a random intercept" in shown
    row = next(line for line in shown.splitlines() if line.startswith("words"))
    assert row.split()[1] == "surprisal"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--columns", "speed=rt"], "unknown role 'speed'"),
        (["--predictors", "luck"], "the models give entropy, surprisal"),
        (["--folds", "1"], "at least 2"),
        (["--spillover", "-1"], "at least 0"),
        (["--between", "100"], "give two times"),
        (["--between", "1000,2000"], "rows can be used"),
    ],
)
def test_refusals(call: Any, table: Path, arguments: list[str], message: str) -> None:
    result = call("reading-times", "times.tsv", "--run", "words", *arguments)
    assert result.code == 2
    assert message in result.err


def test_what_cannot_be_told_is_not_told(call: Any, place: Path, table: Path) -> None:
    rows = [f"{n // 10}\t{'cat' if n % 10 < 5 else 'dog'}\t{300 + n % 7}\t5" for n in range(300)]
    header = "item\tword\trt\tsame"
    (place / "plain.tsv").write_text("\n".join([header, *rows]) + "\n")
    refused = call("reading-times", "plain.tsv", "--run", "words", "--columns", "time=same")
    assert refused.code == 2
    assert "all times are the same" in refused.err
    twice = call("reading-times", "plain.tsv", "--run", "a=words", "--run", "a=letters")
    assert twice.code == 2
    assert "two runs are called a" in twice.err
    unknown = [row.replace("cat", "yak").replace("dog", "gnu") for row in rows]
    (place / "plain.tsv").write_text("\n".join([header, *unknown]) + "\n")
    result = call(
        "reading-times", "plain.tsv", "--run", "words", "--keep-unknown", "--draws", "50",
        "--predictors", "surprisal", "--spillover", "0", "--json",
    )  # fmt: skip
    assert result.code == 0, result.err
    data = json.loads(result.out)
    # Every word has the same length, so the length is a multiple of the constant.
    assert data["results"][0]["coefficients"][0]["value"] is None
    assert any("no slopes" in one for one in data["notes"])


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")
@pytest.mark.parametrize("subjects", [False, True])
def test_r_repeats_the_regressions(call: Any, place: Path, table: Path, subjects: bool) -> None:
    header, *rows = [line.split("\t") for line in table.read_text().splitlines()]
    if subjects:
        ready = "if (!requireNamespace('lme4', quietly = TRUE)) quit(status = 1)"
        if subprocess.run(["Rscript", "-e", ready], check=False).returncode:
            pytest.skip("needs the R package lme4")
    else:  # of one reader, so that there are no intercepts
        rows = [[item, word, "", time] for item, word, reader, time in rows if reader == "s0"]
        header[2] = "nothing"
    (place / "for-r.tsv").write_text("".join("\t".join(row) + "\n" for row in [header, *rows]))
    result = call(
        "reading-times", "for-r.tsv", "--run", "words", "--run", "letters", "--frequencies", "data",
        "--predictors", "surprisal,surprisal+entropy", "--out", "for-r", "--json", "--draws", "50",
    )  # fmt: skip
    assert result.code == 0, result.err
    run = ["Rscript", "repeat.R"]
    printed = subprocess.run(
        run, cwd=place / "for-r", check=True, capture_output=True, text=True
    ).stdout
    sections = re.findall(r"== (.+?) ==\n(.*?)(?=\n== |\Z)", printed, re.DOTALL)
    data = json.loads(result.out)
    assert [name for name, _ in sections] == [
        f"{one['run']} {one['predictors']}" for one in data["results"]
    ]
    for (_, shown), ours in zip(sections, data["results"], strict=True):
        values = re.findall(r"^(?:surprisal|entropy)\S+ +(\S+) +(\S+)", shown, re.MULTILINE)
        found = [(float(value), float(error)) for value, error in values]
        expected = [(one["value"], one["error"]) for one in ours["coefficients"]]
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
        (fitted,) = re.findall(r"fitted gain: (\S+)", shown)
        assert float(fitted) == pytest.approx(ours["fitted_delta"], abs=2e-5)
        held_out = [float(gain) for gain in re.findall(r"held-out gain: (\S+)", shown)]
        assert held_out == ([] if subjects else [pytest.approx(ours["delta"], abs=2e-5)])
        bent = [float(gain) for gain in re.findall(r"splines: (\S+) nats", shown)]
        line = ours["linearity"]
        assert bent == ([] if line is None else [pytest.approx(line["gain"], abs=2e-2)])
