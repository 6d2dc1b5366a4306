"""The score of O is lowered if that finds more spans on validation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tagged import write_tagged

import elman
from elman.tasks.tagging import span_offset
from elman.tasks.tagging.span_offset import fit_offset, offset_lines, span_f1

pytestmark = pytest.mark.usefixtures("without_curves")
RIGHT = [["B-PER", "O", "B-LOC"], ["O", "B-PER", "I-PER"]]


def test_f1_by_hand() -> None:
    # Three spans; found: the first, and half of the last, which counts as another one. 2 · 1 / 5
    assert span_f1(RIGHT, [["B-PER", "O", "O"], ["O", "B-PER", "O"]]) == pytest.approx(2 / 5)
    assert span_f1([["O"]], [["O"]]) == 1.0


def test_the_offset_with_the_best_f1() -> None:
    def choose(offset: float) -> list[list[str]]:
        if offset < 1:
            return [["O", "O", "O"], ["O", "O", "O"]]
        return RIGHT if offset < 3 else [["B-PER"] * 3] * 2

    assert fit_offset(choose, RIGHT) == {"offset": 1.0, "f1_before": 0.0, "f1_after": 1.0}


def test_a_small_gain_is_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(span_offset, "span_f1", lambda right, guessed: guessed)
    values: Any = lambda offset: 0.80 + 0.001 * offset  # noqa: E731
    found = fit_offset(lambda offset: values(min(offset, 4.0)), RIGHT)
    assert (found["offset"], found["f1_after"]) == (0.0, 0.80)
    assert offset_lines({"calibration": {**found, "examples": 100}}) == []


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A tagger that prefers O, because its bias says so."""
    monkeypatch.setattr("elman.tasks.tagging.task.FEWEST", 10)
    data = write_tagged(tmp_path / "data")
    settings = ["model.hidden_size=8", "training.epochs=6", "training.min_steps=0"]
    trained = elman.train("tagger", data=str(data), overrides=settings)
    with torch.no_grad():
        trained.model.scores.bias[trained.task.tags.index("O")] += 6.0
    return trained, data


def test_a_tagger_that_prefers_o(run: Any, tmp_path: Path) -> None:
    trained, data = run
    examples = trained.examples(str(data), "valid")
    trained.facts.pop("calibration", None)
    before = trained.measure(examples).main()[1]
    trained.facts["calibration"] = trained.fit_calibration(examples)
    assert trained.offset > 0
    after = trained.measure(examples).main()[1]
    assert after > before + 0.1
    assert after == pytest.approx(trained.facts["calibration"]["f1_after"])
    sentences = [example.given() for example in examples]
    found = trained.tag(sentences)
    assert span_f1([[*e.tags] for e in examples], found) == pytest.approx(after)
    assert any("score of O is lowered" in str(line) for line in trained.summary())
    trained.save(tmp_path / "run")
    assert elman.load(tmp_path / "run").tag(sentences) == found


def test_the_validation_result_is_that_of_the_offset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("elman.tasks.tagging.task.FEWEST", 10)
    fitted = {"offset": 20.0, "f1_before": 0.5, "f1_after": 0.6}
    monkeypatch.setattr("elman.tasks.tagging.task.fit_offset", lambda choose, right: fitted)
    data = write_tagged(tmp_path / "data")
    settings = ["model.hidden_size=8", "training.epochs=2", "training.min_steps=0"]
    trained: Any = elman.train("tagger", data=str(data), out=tmp_path / "run", overrides=settings)
    measured = trained.measure(trained.examples(str(data), "valid")).main()[1]
    for facts in (trained.facts, elman.load(tmp_path / "run").facts):
        assert facts["validation"]["span_error"] == pytest.approx(1 - measured, abs=1e-3)
    judged = [one["valid_span_error"] for one in trained.history() if "valid_span_error" in one]
    assert min(judged) != pytest.approx(1 - measured, abs=1e-3)


def test_probabilities_do_not_change(run: Any) -> None:
    trained, _ = run
    sentence = [["Ann", "sleeps", "in", "Rome"]]
    before = trained.probabilities(sentence)
    trained.facts.setdefault("calibration", {})["offset"] = 4.0
    assert trained.probabilities(sentence) == before


def test_tags_without_spans_have_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elman.tasks.tagging.task.FEWEST", 1)
    for split in ("train", "valid"):
        (tmp_path / f"{split}.txt").write_text("a DET\ncat NOUN\n\n" * 8, encoding="utf-8")
    settings = ["model.hidden_size=4", "training.epochs=2", "training.min_steps=0"]
    trained = elman.train("tagger", data=str(tmp_path), overrides=settings)
    assert "offset" not in trained.facts["calibration"]
