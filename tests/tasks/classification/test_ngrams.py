"""The linear part of a classifier, over n-grams, beside its network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from films import draw_texts, log_probabilities, train_classifier, write_texts
from outcome import differences, outcome
from stopping import stop_at

import elman
from elman.errors import InputError
from elman.tasks.task import resume
from elman.training.loop import Stopped

pytestmark = pytest.mark.usefixtures("without_curves")
NGRAMS = "model.ngrams=512"


@pytest.fixture
def data(tmp_path: Path) -> str:
    return write_texts(tmp_path / "data", train=draw_texts(60, 0), valid=draw_texts(20, 1))


def test_scores_are_those_of_both_parts(tmp_path: Path) -> None:
    few = write_texts(tmp_path / "few", train=draw_texts(60, 0), valid=draw_texts(19, 1))
    trained = train_classifier(few, NGRAMS, "training.epochs=2")
    model, text = trained.model, "a warm film ."
    sentences = trained.task.index([text.split()]).batch(np.arange(1))
    with torch.no_grad():
        network, linear = model._network((sentences,)), model.ngrams[0](sentences)
        assert linear.abs().max() > 0
        expected = torch.log_softmax(0.3 * network + 2.0 * linear, 1).numpy()[0]
    assert log_probabilities(trained, text) == pytest.approx(expected, abs=1e-6)


def test_a_run_keeps_them_and_goes_on_bit_for_bit(data: str, tmp_path: Path) -> None:
    whole = train_classifier(data, NGRAMS, out=tmp_path / "whole")
    with stop_at([9]), pytest.raises(Stopped):
        train_classifier(data, NGRAMS, out=tmp_path / "stopped")
    resume(tmp_path / "stopped")
    assert differences(outcome(tmp_path / "whole"), outcome(tmp_path / "stopped")) == []
    again = elman.load(tmp_path / "whole")
    text = "the cast is dull"
    assert log_probabilities(again, text) == pytest.approx(log_probabilities(whole, text), abs=0)  # type: ignore[arg-type]


def test_pairs_have_a_table_for_each_side(tmp_path: Path) -> None:
    pairs = [(label, f"{text}\tthe film is {label}") for label, text in draw_texts(40, 0)]
    data = write_texts(tmp_path / "data", train=pairs, valid=pairs[:10])
    trained = train_classifier(data, NGRAMS, "training.epochs=3")
    assert len(trained.model.ngrams) == 2
    assert trained.evaluate(data, split="train").main()[1] > 0.9


def test_wrong_settings_are_refused(data: str) -> None:
    with pytest.raises(InputError, match="model.ngrams=-1: must not be negative"):
        train_classifier(data, "model.ngrams=-1")
    with pytest.raises(InputError, match="model.ngram_cost=0: must be greater than 0"):
        train_classifier(data, "model.ngram_cost=0")
