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
    for words in (
        "ptb: Penn",
        "kn5-cache",
        "rnnsearch-50",
        "lstm-f-xml",
        "47.69",
        "quoted",
        "141.19",
    ):
        assert words in out
    assert not Path("reproduced").exists()  # looking writes nothing


def test_one_table_says_why(capsys: Capture) -> None:
    assert run(["reproduce", "ptb"]) == 0
    out = capsys.readouterr().out
    assert "quoted: the model needs the output of a parser" in out
    assert "zaremba" not in out


def test_the_list_as_data(capsys: Capture) -> None:
    assert run(["reproduce", "elmo", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [entry["row"]["name"] for entry in rows][:2] == ["squad", "snli"]
    assert rows[0]["verdict"]["kind"] == "quoted"
    assert rows[0]["row"]["published"] == 85.8


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        (["ptbb"], "did you mean 'ptb'"),
        (["--row", "kn5"], "--row kn5: name the table first"),
        (["ptb", "--row", "kn6"], "did you mean 'kn5'"),
        (["ptb", "--row", "kn5"], "name its folder with --data FOLDER"),
        (["ablation", "--row", "xy", "--plan"], "unknown row of ablation"),
        (["ptb", "--row", "kn5", "--next"], "--row and --next both choose rows"),
        (["ptb", "--row", "kn5", "--data", "nowhere"], "nowhere"),
        (["ptb", "--row", "kn5", "--budget", "3m"], "give only one of them"),
        (["ptb", "--row", "syntactical"], "quoted: the model needs"),
        (["ptb", "--budget", "soon"], "write a time like"),
        (["ptb", "--budget", "3m"], "name its folder with --data FOLDER"),
        (["ptb", "--results", "bad.json"], "bad.json: not a results file"),
        (["ptb", "--plan"], "name its folder with --data FOLDER"),
        (["ptb", "--again"], "--again needs rows to measure"),
        (["--write", "page.md"], "page.md: cannot be written"),
        (["--write", "bad.json"], "bad.json: not a results file"),
        (["--write", "page.md", "--plan"], "--write writes stored results"),
        (["--write", "nowhere/page.html"], "nowhere/page.html: cannot be written"),
        (["--workers", "3", "--budget", "1m"], "must be auto, 1 or 2"),
        (["--first", "ptb/*"], "--first sets the order of the queue"),
        (["mine.toml"], "mine.toml"),
        (["ptb", "ours", "--row", "kn5"], "name the table first"),
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


def test_the_queue_says_what_comes_next(
    penn_treebank: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("ELMAN_DATA", str(penn_treebank.parent))
    assert run(["reproduce", "ptb", "--next", "--first", "ptb/rec*", "--json"]) == 0
    jobs = json.loads(capsys.readouterr().out)
    rows = [job["row"] for job in jobs]
    assert set(rows[:2]) == {"recurrent", "recurrent-ours"}
    assert rows[2] in ("kn5", "kn5-cache")
    assert "syntactical" not in rows
    assert all(job["cost"]["seconds"] > 0 for job in jobs)
    assert run(["reproduce", "ptb", "--next"]) == 0
    assert "rows are left, 0 of them not shown" in capsys.readouterr().out
    assert not Path("reproduced").exists()


def test_shipped_results_are_shown_with_their_evidence(capsys: Capture) -> None:
    assert run(["reproduce", "ptb"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("kn5 ")]
    for words in ("141.2", "141.19", "reproduced", "elman 0.1", "seed 0", "text dd65dff3"):
        assert words in line


def test_results_of_the_folder_win(capsys: Capture) -> None:
    entry = json.loads(run_json(["reproduce", "ptb", "--json"], capsys))[0]["result"]
    entry["measured"] = 99.5
    Path("reproduced").mkdir()
    data = {**FINE, "results": {"ptb/kn5": entry}}
    Path("reproduced/results.json").write_text(json.dumps(data))
    found = json.loads(run_json(["reproduce", "ptb", "--json"], capsys))
    assert found[0]["result"]["measured"] == 99.5
    assert found[0]["verdict"]["text"].startswith("better by")
    assert found[1]["result"]["measured"] == pytest.approx(125.21, abs=0.01)


def run_json(arguments: list[str], capsys: Capture) -> str:
    assert run(arguments) == 0
    return capsys.readouterr().out


def test_tables_are_written_as_page_and_as_data(capsys: Capture) -> None:
    assert run(["reproduce", "--write", "page.html"]) == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    for words in ("141.19", "✓", "reproduced", "elman reproduce ptb --row kn5", 'class="bar '):
        assert words in page
    assert run(["reproduce", "--write", "all.json"]) == 0
    assert "ptb/kn5" in json.loads(Path("all.json").read_text())["results"]
    entry = json.loads(Path("all.json").read_text())["results"]["ptb/kn5"] | {"row": "of-mine"}
    Path("mine.json").write_text(json.dumps({**FINE, "results": {"ptb/of-mine": entry}}))
    assert run(["reproduce", "--write", "mine.json"]) == 0
    assert {"ptb/kn5", "ptb/of-mine"} <= json.loads(Path("mine.json").read_text())["results"].keys()


def test_verdicts_are_renewed_when_results_are_written() -> None:
    assert run(["reproduce", "--write", "all.json"]) == 0
    data = json.loads(Path("all.json").read_text())
    data["results"]["ptb/kn5"]["verdict"] = "not reached"
    Path("reproduced").mkdir()
    Path("reproduced/results.json").write_text(json.dumps(data))
    assert run(["reproduce", "--write", "all.json"]) == 0
    found = json.loads(Path("all.json").read_text())
    assert found["results"]["ptb/kn5"]["verdict"] == "reproduced"


def test_rows_are_planned_without_training(capsys: Capture) -> None:
    rows = "".join(f'[rows.{name}]\nrecipe = "{name}"\n' for name in ("ngram", "laplace"))
    head = 'title = "t"\nsource = "s"\nmetric = "perplexity"\ndata = "grammar"\n'
    Path("mine.toml").write_text(head + rows)
    assert run(["reproduce", "mine.toml", "--row", "ngram", "--plan"]) == 0
    kept = json.loads(Path("reproduced/results.json").read_text())
    assert list(kept["costs"]) == ["grammar-ngram"]
    assert not kept["results"]
    assert not Path("reproduced/runs").exists()
