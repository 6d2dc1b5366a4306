"""`elman evaluate`, as people and scripts call it."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
import torch

import elman
from elman.models.recurrent import RecurrentModel


def test_evaluate(says: Any) -> None:
    shown = says("evaluate", "words", "--data", "data")
    for line in ("perplexity", "bits per byte", "tokens", "protocol: words · vocabulary 11 ·"):
        assert f"\n{line}" in shown
    assert "mixture" not in shown
    assert "text: data/test.txt" in shown


def test_evaluate_as_data(gives: Any, place: Path) -> None:
    found = gives("evaluate", "words", "--data", "data")
    expected = elman.load(place / "words").evaluate(str(place / "data"))
    assert found["perplexity"] == pytest.approx(expected.perplexity)
    assert found["nats"] == pytest.approx(expected.nats)
    assert found["bits_per_byte"] == pytest.approx(expected.bits_per_byte)
    assert found["tokens"] == 280
    assert found["protocol"]["unit"] == "words"
    assert found["protocol"]["signature"] == str(expected.protocol)
    assert found["model"]["order"] == 5


def test_evaluate_options(gives: Any) -> None:
    plain = gives("evaluate", "letters", "--data", "data")
    cut = gives("evaluate", "letters", "--data", "data", "--batch-size", "4", "--window", "9")
    assert cut == plain
    valid = gives("evaluate", "letters", "--data", "data", "--split", "valid", "--reset", "line")
    assert "valid" in valid["protocol"]["text"]
    assert valid["protocol"]["state"] == "every line by itself"


def test_evaluate_accuracy(gives: Any, says: Any) -> None:
    command = ("evaluate", "letters", "--data", "data", "--accuracy")
    found = gives(*command)["accuracy"]
    assert found["counted"] == gives("evaluate", "letters", "--data", "data")["tokens"]
    assert 0 < found["accuracy"] < 1
    assert found["accuracy"] == found["right"] / found["counted"]
    after = gives(*command, "--after", "t", "--until", " ")["accuracy"]
    assert 0 < after["counted"] < found["counted"]
    shown = says(*command, "--after", "t")
    assert "accuracy" in shown
    assert "counted: tokens after 't' in a line, including the line end" in shown
    assert gives(*command, "--batch-size", "3", "--reset", "line")["accuracy"]["counted"]


def test_evaluate_with_adapters(says: Any, gives: Any) -> None:
    cache = ("evaluate", "laplace", "--data", "data", "--with", "cache:window=50")
    assert re.search(r"\nwith: \d\.\d{3} ngram \+ \d\.\d{3} cache\n", says(*cache))
    both = gives(*cache, "--with", "mix:run=words,weight=0.5")
    assert both["model"]["weights"] == [0.5, 0.5]
    assert both["model"]["models"][0]["model"] == "mixture"
    assert both["perplexity"] < gives("evaluate", "laplace", "--data", "data")["perplexity"]


def test_both_sparsity_problems_are_shown(call: Any, tmp_path: Path) -> None:
    """Maximum likelihood: zero after a seen context, undefined after one never seen."""
    raw = ("--set", "model.smoothing=maximum-likelihood", "--set", "model.order=3")
    run = str(tmp_path / "run")
    assert call("train", "ngram", "--data", "data", "--out", run, *raw).code == 0
    (tmp_path / "text.txt").write_text("the cat cat dog\n")
    evaluate = ("evaluate", run, "--data", str(tmp_path / "text.txt"))
    shown = call(*evaluate)
    assert shown.code == 0
    assert "1 of 5 tokens have probability zero" in shown.err
    assert "2 of 5 tokens have no defined probability" in shown.err
    data = json.loads(call(*evaluate, "--json").out, parse_constant=pytest.fail)
    assert (data["perplexity"], data["impossible_tokens"], data["undefined_tokens"]) == (None, 3, 2)
    explained = call("explain", run, "--text", "the cat cat dog").out
    assert "cat: probability 0: seen 0 of " in explained
    assert "dog: undefined, 0 / 0: the context 'cat cat' was never seen" in explained
    rows = call("surprisal", run, "--text", "the cat cat dog")
    assert [line.split("\t")[3] for line in rows.out.splitlines()][3:] == ["inf", "undefined"]
    assert "1 of 4 words have no defined probability" in rows.err
    read = json.loads(call("surprisal", run, "--text", "the cat cat dog", "--json").out)["words"]
    assert [row["undefined"] for row in read] == [False, False, False, True]
    for command in (["generate", run, "--prompt", "cat cat"], ["suggest", run, "cat cat"]):
        refused = call(*command)
        assert refused.code != 0
        assert "train it with a smoother" in refused.err
    mixed = call(*evaluate, "--with", "cache:weight=0.1")
    assert mixed.code == 2
    assert "cannot be adapted or mixed" in mixed.err


def test_evaluate_where_a_word_is_impossible(call: Any, tmp_path: Path) -> None:
    raw = ("--set", "model.smoothing=maximum-likelihood", "--set", "model.order=1")
    assert call("train", "ngram", "--data", "data", "--out", str(tmp_path / "run"), *raw).code == 0
    (tmp_path / "text.txt").write_text("the zebra sees a cat .\n")
    evaluate = ("evaluate", str(tmp_path / "run"), "--data", str(tmp_path / "text.txt"))
    shown = call(*evaluate)
    assert "∞" in shown.out
    assert "1 of 7 tokens have probability zero" in shown.err
    assert json.loads(call(*evaluate, "--json").out)["perplexity"] is None


def test_an_evaluation_that_is_not_finite_is_an_error(
    call: Any, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = str(tmp_path / "run")
    settings = ["training.epochs=1", "model.hidden_size=8", "model.embedding_size=8"]
    elman.train("small", data=str(place / "data"), out=out, overrides=settings)
    adapted = ["--with", "dynamic:rate=1e38,rule=sgd"]
    for flags in ([], ["--json"]):
        result = call("evaluate", out, "--data", "data", *adapted, *flags)
        assert result.code == 1
        assert result.out == ""
        assert "dynamic: the weights diverged" in result.err
        assert "rate=1e+37" in result.err
    score = RecurrentModel.score
    for worth in (math.nan, math.inf, 1e9):
        monkeypatch.setattr(
            RecurrentModel,
            "score",
            lambda self, ids, state, w=worth: (score(self, ids, state)[0] * 0 - w, state),
        )
        result = call("evaluate", out, "--data", "data", "--json")
        assert result.code == 1
        assert result.out == ""
        assert "cannot be measured" in result.err


COMPUTING = {
    "evaluate": ["words", "--data", "data"],
    "compare": ["words", "laplace", "--data", "data"],
    "surprisal": ["words", "--text", "the cat"],
    "generate": ["words", "--max-tokens", "2"],
    "suggest": ["words", "the"],
    "score": ["words", "--text", "the cat"],
    "minimal-pairs": ["words", "grammar"],
}


@pytest.mark.parametrize("command", COMPUTING)
def test_threads(command: str, call: Any) -> None:
    before = torch.get_num_threads()
    try:
        for threads in (before + 1, before):
            call(command, *COMPUTING[command], "--threads", str(threads))
            assert torch.get_num_threads() == threads
        result = call(command, *COMPUTING[command], "--threads", "0")
        assert result.code == 2
        assert "--threads 0: must be at least 1" in result.err
    finally:
        torch.set_num_threads(before)
