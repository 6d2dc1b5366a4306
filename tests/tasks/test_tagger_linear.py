"""The linear features of a tagger, beside its network, and validation by spans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from outcome import differences, outcome
from stopping import stop_at
from tagged import train_tagger, write_tagged

import elman
from elman.errors import InputError
from elman.tasks.task import resume
from elman.training.loop import Stopped

pytestmark = pytest.mark.usefixtures("without_curves")
LINEAR = "model.linear=1024"
SPANS = "model.validate_by=spans"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tagged(tmp_path_factory.mktemp("linear") / "data")


def test_scores_are_the_sum_of_both_parts(data: Path) -> None:
    trained = train_tagger(data, None, LINEAR)
    sentences = trained.task.index([["Ann", "sees", "Bob", "."]]).batch(np.arange(1))
    with torch.no_grad():
        network, linear = trained.model._parts(sentences)
        assert linear.abs().max() > 0
        torch.testing.assert_close(trained.model.score(sentences), network + linear)


def test_a_run_is_resumed_bit_for_bit_and_loaded(data: Path, tmp_path: Path) -> None:
    whole = train_tagger(data, tmp_path / "whole", LINEAR, SPANS)
    with stop_at([9]), pytest.raises(Stopped):
        train_tagger(data, tmp_path / "stopped", LINEAR, SPANS)
    resume(tmp_path / "stopped")
    assert differences(outcome(tmp_path / "whole"), outcome(tmp_path / "stopped")) == []
    loaded: Any = elman.load(tmp_path / "whole")
    assert loaded.evaluate(str(data)).to_data() == whole.evaluate(str(data)).to_data()


def test_validation_by_spans_is_one_minus_f1(data: Path) -> None:
    trained = train_tagger(data, None, SPANS, "training.epochs=1")
    measured = trained.evaluate(str(data), split="valid")
    assert 0 < measured.entities.all.f1 < 1
    error = trained.facts["validation"]["span_error"]
    assert error == pytest.approx(1 - measured.entities.all.f1, abs=1e-4)
    assert f"validation F1 of spans {1 - error:.4f}, " in "\n".join(map(str, trained.summary()))


def test_tags_that_mark_no_spans_are_validated_as_tags(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a DET\ncat NOUN\n\nthe DET\ndog NOUN\n")
    (tmp_path / "valid.txt").write_text("a DET\ndog NOUN\n")
    trained = train_tagger(tmp_path, None, SPANS)
    assert "error" in trained.facts["validation"]


def test_a_validation_set_without_spans(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a O\ncat B-X\n\nthe O\ndog B-X\n")
    (tmp_path / "valid.txt").write_text("a O\nthe O\n")
    trained = train_tagger(tmp_path, None, SPANS)
    assert 0 <= trained.facts["validation"]["span_error"] <= 1.1


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("model.linear=-1", "model.linear=-1"),
        ("model.dropout_linear=1", "dropout_linear"),
        ("model.validate_by=words", "unknown validate_by 'words'"),
    ],
)
def test_invalid_settings_are_refused(data: Path, setting: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        train_tagger(data, None, setting)
