"""`--budget` of `elman train` and `elman plan`."""

import json
import re
from pathlib import Path

import pytest
from tagged import write_tagged

from elman.tasks import planning

pytestmark = pytest.mark.usefixtures("without_curves")
ONE_MINUTE = ["--data", "data", "--out", "x", "--budget", "1m"]


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "_PROBE_SECONDS", 0.01)


def test_training_says_what_it_chose(call, tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    result = call("train", "--data", "data", "--out", out, "--budget", "0.002teraflop")
    assert result.code == 0, result.err
    assert "note: budget 0.002 teraflop: recipe small, model.hidden_size=" in result.err
    assert "training.epochs=" in result.err
    assert "budget 0.002 teraflop: used" in result.out
    assert "for comparison: an n-gram model has validation perplexity" in result.out
    assert "which is better\n" in result.out  # a hundred steps teach less than counts
    assert "--set model.output=ngram-residual" in result.out
    more = call("train", "--resume", out, "--budget", "0.001teraflop")
    assert more.code == 0, more.err
    assert "note: budget 0.001 teraflop: up to epoch" in more.err
    assert re.search(r"budget 0\.001 teraflop: used 0\.00\d+, 0\.003\d* in all", more.out), more.out


def test_a_network_on_top_of_ngrams_is_not_offered_again(call, tmp_path: Path) -> None:
    on_top = ["--set", "model.output=ngram-residual"]
    more = ["--out", str(tmp_path / "run"), "--budget", "0.002teraflop", *on_top]
    result = call("train", "--data", "data", *more)
    assert result.code == 0, result.err
    assert "for comparison: an n-gram model" in result.out
    assert "ngram-residual" not in result.out


def test_a_budget_that_is_too_short_is_said_to_be(call, tmp_path: Path) -> None:
    result = call("train", "--data", "data", "--out", str(tmp_path / "run"), "--budget", "0.01s")
    assert result.code == 0, result.err
    wanted = r"too short for this data: it was enough for \d+ steps?( after \d+ s of \D+)?; give"
    assert re.search(wanted, result.out)


def test_a_few_steps_are_too_few(call, tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    result = call("train", "--data", "data", "--out", out, "--budget", "0.000001teraflop")
    assert result.code == 0, result.err
    assert "too short for this data: it was enough for" in result.out


def test_named_columns_choose_the_recipe(call, tmp_path: Path) -> None:
    texts = [f"{'warm' if n % 2 else 'cold'} film no. {n}" for n in range(60)]
    rows = [json.dumps({"body": text, "mark": text[:4], "by": "x"}) for text in texts]
    (tmp_path / "x.jsonl").write_text("\n".join(rows))
    table = ["--data", str(tmp_path / "x.jsonl"), "--columns", "text=body,label=mark"]
    result = call("train", *table, "--out", str(tmp_path / "run"), "--budget", "0.001teraflop")
    assert result.code == 0, result.err
    assert "recipe classifier" in result.err
    assert re.search(r"plan +classifier", call("plan", *table, "--budget", "0.001teraflop").out)


def test_a_plan_says_what_it_chose(call, gives, tmp_path: Path) -> None:
    data = str(write_tagged(tmp_path / "tagged"))
    printed = call("plan", "--data", data, "--budget", "0.01teraflop").out
    assert "chosen for 0.01teraflop: model.hidden_size=" in printed
    assert re.search(r"plan +tagger", printed)
    assert "training.epochs" in str(gives("plan", "--data", data, "--budget", "5s")["settings"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--data", "data", "--out", "x", "--budget", "soon"], "write a time like 45s, 10m or 2h"),
        (
            [
                "quick",
                "--data",
                "data",
                "--out",
                "x",
                "--budget",
                "1m",
                "--set",
                "training.epochs=2",
            ],
            "--budget chooses training.epochs",
        ),
        (["ngram", *ONE_MINUTE], "leave out --budget"),
        (["--out", "x", "--budget", "1m"], "--data is missing"),
    ],
)
def test_what_is_refused(call, arguments: list[str], said: str) -> None:
    result = call("train", *arguments)
    assert result.code == 2
    assert said in result.err


def test_a_bare_training_stays_what_it_is(call, tmp_path: Path) -> None:
    result = call("train", "--data", "data", "--out", str(tmp_path / "run"))
    assert result.code == 0
    assert "n-grams" in result.out
    assert "budget" not in result.out + result.err
