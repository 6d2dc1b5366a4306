"""`elman reproduce` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from elman.cli import run

Capture = pytest.CaptureFixture[str]
FINE = {"format": "elman reproduced", "version": 1, "results": {}, "costs": {}}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ELMAN_DATA", raising=False)


def test_the_list_has_every_table(capsys: Capture) -> None:
    assert run(["reproduce"]) == 0
    out = capsys.readouterr().out
    for words in ("ptb: Penn", "kn5-cache", "rnnsearch-50", "lstm-f-xml", "47.69", "quoted only"):
        assert words in out
    assert not Path("reproduced").exists()  # looking writes nothing


def test_one_table_says_why(capsys: Capture) -> None:
    assert run(["reproduce", "ptb"]) == 0
    out = capsys.readouterr().out
    assert "quoted only: it reads the output of a parser" in out
    assert "zaremba" not in out


def test_the_list_as_data(capsys: Capture) -> None:
    assert run(["reproduce", "elmo", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [entry["row"]["name"] for entry in rows][:2] == ["squad", "snli"]
    assert rows[0]["verdict"]["kind"] == "quoted only"
    assert rows[0]["row"]["published"] == 85.8


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        (["ptbb"], "did you mean 'ptb'"),
        (["--row", "kn5"], "--row kn5: name its table first"),
        (["ptb", "--row", "kn6"], "did you mean 'kn5'"),
        (["ptb", "--row", "kn5"], "name its folder with --data FOLDER"),
        (["ptb", "--row", "kn5", "--data", "nowhere"], "nowhere"),
        (["ptb", "--row", "kn5", "--budget", "3m"], "give one of the two"),
        (["ptb", "--row", "syntactical"], "quoted only: it reads"),
        (["ptb", "--budget", "soon"], "write a time like"),
        (["ptb", "--budget", "3m"], "name its folder with --data FOLDER"),
        (["ptb", "--results", "bad.json"], "bad.json: not a file of results"),
        (["ptb", "--plan"], "name its folder with --data FOLDER"),
        (["ptb", "--again"], "--again is for rows that are named"),
        (["--write", "page.md"], "page.md: cannot be written"),
        (["--write", "bad.json"], "has no place for the tables"),
        (["--write", "page.md", "--plan"], "--write writes what is kept"),
    ],
)
def test_wrong_input_is_one_line(arguments: list[str], culprit: str, capsys: Capture) -> None:
    Path("bad.json").write_text("{")
    assert run(["reproduce", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("elman: ")
    assert err.count("\n") == 1
    assert culprit in err
    assert [path.name for path in Path().iterdir()] == ["bad.json"]


def test_rows_of_the_penn_treebank(penn_treebank: Path, capsys: Capture) -> None:
    command = ["reproduce", "ptb", "--row", "kn5", "--row", "kn5-cache"]
    assert run([*command, "--data", str(penn_treebank)]) == 0
    out = capsys.readouterr().out
    for words in ("141.19", "125.21", "reproduced", "<eos> counted", "sha256:dd65dff31e70846b"):
        assert words in out
    assert run([*command, "--data", str(penn_treebank), "--json"]) == 0  # kept
    first, second = json.loads(capsys.readouterr().out)
    assert first["measured"] == pytest.approx(141.186, abs=0.005)
    assert second["measured"] <= 125.7
    assert first["verdict"] == "reproduced"
    assert second["verdict"] == "reproduced (−0.4 %)"
    assert [path.name for path in Path("reproduced/runs").iterdir()] == ["ptb-ngram"]
    assert str(penn_treebank) not in Path("reproduced/results.json").read_text()
    assert run(["reproduce", "ptb"]) == 0
    assert "141.19" in capsys.readouterr().out


def test_a_budget_leaves_out_what_does_not_fit(
    penn_treebank: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    neural = ["bengio", "log-bilinear", "mikolov", "rnn-lda"]
    costs = {f"ptb-{recipe}": {"seconds": 3600, "teraflop": 20.0} for recipe in neural}
    Path("known.json").write_text(json.dumps({**FINE, "costs": costs}))
    monkeypatch.setenv("ELMAN_DATA", str(penn_treebank.parent))
    assert run(["reproduce", "ptb", "--budget", "5m", "--results", "known.json"]) == 0
    out = capsys.readouterr().out
    assert "141.19" in out
    assert "125.21" in out
    assert "2 rows run, 4 did not fit into 5 min" in out
    assert "ptb recurrent     60 min, 20 teraflop" in out
    assert "syntactical" not in out
