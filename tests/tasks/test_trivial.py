"""A model that is no better than a trivial answer says so."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from films import SMALL, draw_texts, write_texts

import elman
from elman.cli import run
from elman.tasks.trivial import (
    Trivial,
    comparison,
    most_frequent_label,
    most_frequent_tags,
    token_frequencies,
    useless_line,
)

pytestmark = pytest.mark.usefixtures("without_curves")


def test_the_most_frequent_label() -> None:
    found = most_frequent_label(["a", "b", "b"], ["b", "a", "a", "c"])
    assert found == Trivial("always predicts 'b'", 3 / 4)
    assert most_frequent_label(["a"], []) is None
    skewed = most_frequent_label(["a"] * 10 + ["b"], ["a", "b"])
    assert skewed is not None
    assert "class_weights=balanced" in skewed.advice


def test_the_most_frequent_tag_of_each_word() -> None:
    train = [("can", "AUX"), ("can", "AUX"), ("can", "NOUN"), ("a", "DET"), ("cat", "NOUN")]
    train += [("dog", "NOUN")]
    # right: can AUX, and the unknown mouse, NOUN like most words; wrong: a
    found = most_frequent_tags(train, [("can", "AUX"), ("mouse", "NOUN"), ("a", "NOUN")])
    assert found is not None
    assert found.value == pytest.approx(1 / 3)


def test_frequencies_of_tokens() -> None:
    # Training has 6 tokens of 4 kinds: p = 4/10, 3/10, 2/10, 1/10 after adding one to each.
    found = token_frequencies(np.array([3, 2, 1, 0]), np.array([1, 0, 0, 1]))
    assert found is not None
    assert found.value == pytest.approx(math.sqrt(1 / (0.4 * 0.1)))
    assert token_frequencies(np.array([3, 2]), np.zeros(2, dtype=int)) is None


@pytest.mark.parametrize(("own", "useless"), [(0.2, False), (0.25, True), (0.3, True)])
def test_an_error_must_be_below(own: float, useless: bool) -> None:
    validation = {"error": own, "tokens": 20}
    found = comparison(Trivial("always predicts 'b'", 0.25), validation)
    assert found.pop("advice", "") == useless * Trivial("", 0).advice
    assert found == {"what": "always predicts 'b'", "error": 0.25, "useless": useless}
    found["advice"] = "train on"
    line = useless_line({"trivial": found, "validation": validation})
    assert (line is not None) == useless
    assert line is None or f"error rate is {own}" in line


def test_without_validation_nothing_is_said() -> None:
    assert comparison(Trivial("always predicts 'b'", 0.25), None) == {}
    assert useless_line({"validation": None}) is None


@pytest.mark.parametrize(("rate", "useless"), [(1e-9, True), (0.02, False)])
def test_a_classifier(rate: float, useless: bool, tmp_path: Path, capsys: Any) -> None:
    drawn = draw_texts(60, 1)
    bad = [one for one in drawn if one[0] == "bad"]  # like most training texts
    valid = bad[:19] + [one for one in drawn if one[0] == "good"][:1]
    data = write_texts(tmp_path / "data", train=draw_texts(60, 0), valid=valid)
    settings = [*SMALL, f"training.learning_rate={rate}", "training.min_steps=0"]
    command = ["train", "classifier", "--data", data, "--out", str(tmp_path / "run")]
    assert run([*command, *(word for one in settings for word in ("--set", one))]) == 0
    assert ("trivial baseline" in capsys.readouterr().out) == useless
    found = elman.load(tmp_path / "run").facts["trivial"]
    assert found["what"] == "always predicts 'bad'"
    assert (found["error"], found["useless"]) == (0.05, useless)


def test_spans_that_are_never_found(tmp_path: Path) -> None:
    for split in ("train", "valid"):
        lines = "John B-PER\nsleeps O\n\n" * 8
        (tmp_path / f"{split}.txt").write_text(lines, encoding="utf-8")
    facts = _train("tagger", tmp_path, 1e-9, "model.hidden_size=4", "model.linear=64")
    assert facts["trivial"]["span_error"] == 1.0
    learned = _train("tagger", tmp_path, 0.05, "model.hidden_size=4", "model.linear=64")
    assert not learned["trivial"]["useless"]


def test_a_text(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a b c d\n" * 60, encoding="utf-8")
    (tmp_path / "valid.txt").write_text("a b c d\n" * 10, encoding="utf-8")
    sizes = ("model.hidden_size=16", "model.embedding_size=8", "training.batch_size=4")
    untrained = _train("quick", tmp_path, 1e-9, *sizes)["trivial"]
    # Five tokens of the same frequency, and the unknown word, which never occurs.
    assert untrained["perplexity"] == pytest.approx((300 + 6) / 61, abs=0.02)
    assert untrained["useless"]
    assert not _train("quick", tmp_path, 0.05, *sizes)["trivial"]["useless"]


def _train(recipe: str, data: Path, rate: float, *settings: str) -> dict[str, Any]:
    every = [f"training.learning_rate={rate}", "training.min_steps=0", "training.epochs=20"]
    every += ["training.validate_every=5", "training.patience=0"]
    return elman.train(recipe, data=str(data), overrides=[*every, *settings]).facts
