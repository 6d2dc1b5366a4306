"""`elman study vary`: one table of all variants, as text, JSON and Markdown."""

import json
from pathlib import Path
from typing import Any

import pytest

import elman


def table(output: str) -> list[list[str]]:
    header, _, *rows = output.splitlines()
    return [header.split(), *(row.split() for row in rows)]


def test_one_table_for_all(says: Any, place: Path, tmp_path: Path) -> None:
    tries = ["--try", "model.order=2,3", "--try", "model.smoothing=katz,witten-bell"]
    command = ["study", "vary", "ngram", "--data", "data", "--out", str(tmp_path / "runs"), *tries]
    written = tmp_path / "table.md"
    header, *rows = table(says(*command, "--write", str(written)))
    assert header == ["model.order", "model.smoothing", "perplexity", "parameters", "seconds"]
    assert [row[:2] for row in rows] == [
        ["2", "katz"],
        ["2", "witten-bell"],
        ["3", "katz"],
        ["3", "witten-bell"],
    ]
    run = tmp_path / "runs" / "model.order=3+model.smoothing=katz+seed=1"
    perplexity = elman.load(run).evaluate("data").perplexity
    assert float(rows[2][2]) == pytest.approx(perplexity, abs=1e-2)
    lines = written.read_text().splitlines()
    assert lines[0] == "| model.order | model.smoothing | perplexity | parameters | seconds |"
    assert lines[1] == "| --- | --- | --: | --: | --: |"
    assert [line.strip("| ").split(" | ") for line in lines[2:]] == rows


def test_the_range_over_seeds_and_json(says: Any, place: Path, tmp_path: Path) -> None:
    command = ["study", "vary", "ngram", "--data", "data", "--out", str(tmp_path), "--seeds", "2"]
    command += ["--try", "model.order=2"]
    header, row = table(says(*command))
    assert header[1:4] == ["perplexity", "lowest", "highest"]
    assert row[1] == row[2] == row[3]  # counting has no chance in it
    (found,) = json.loads(says(*command, "--json"))
    assert found["settings"] == {"model.order": "2"}
    assert [run["seed"] for run in found["runs"]] == [1, 2]
    assert found["mean"] == pytest.approx(found["lowest"])


def test_other_tokens_are_noted(call: Any, place: Path, tmp_path: Path) -> None:
    tries = ["--try", "text.tokenizer=words,characters"]
    result = call("study", "vary", "ngram", "--data", "data", "--out", str(tmp_path), *tries)
    assert "note: perplexities are per token" in result.err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "nothing to vary; add for example --try"),
        (("--try", "model.order"), "write it as section.field=value,value"),
        (("--try", "model.order=2,x"), "model.order='x': expected a whole number"),
        (("--try", "model.order=2", "--seeds", "0"), "--seeds 0: must be at least 1"),
        (
            ("--try", "model.order=2", "--write", "no/where.md"),
            "no/where.md: the folder no does not exist; create it first",
        ),
        (("--try", "model.order=2", "--write", "data"), "data: is a folder; name a file"),
    ],
)
def test_bad_input_is_one_line(
    call: Any, tmp_path: Path, arguments: tuple[str, ...], problem: str
) -> None:
    result = call(
        "study", "vary", "ngram", "--data", "data", "--out", str(tmp_path / "runs"), *arguments
    )
    assert result.code == 2
    assert result.err.count("\n") == 1
    assert problem in result.err
    assert not (tmp_path / "runs").exists()
