"""A loaded classifier gives the same results, and a stopped training resumes exactly."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from films import draw_texts, train_classifier
from stopping import stop_at

import elman
from elman.tasks.classification.trained import TrainedClassifier
from elman.tasks.task import resume
from elman.training.loop import Stopped

pytestmark = pytest.mark.usefixtures("without_curves")


def test_what_is_saved_and_loaded_says_the_same(trained: TrainedClassifier, tmp_path: Path) -> None:
    trained.save(tmp_path / "run")
    loaded = elman.load(tmp_path / "run")
    given = [text for _, text in draw_texts(8, 5)]
    assert loaded.classify(given) == trained.classify(given)
    assert loaded.task.to_data() == trained.task.to_data()


def test_a_stopped_training_goes_on_bit_for_bit(data: str, tmp_path: Path) -> None:
    dropped = ("model.dropout_features=0.3", "model.dropout_pooled=0.3", "training.epochs=3")
    whole = train_classifier(data, *dropped, out=tmp_path / "whole")
    with stop_at([7], signal.SIGINT), pytest.raises(Stopped):
        train_classifier(data, *dropped, out=tmp_path / "stopped")
    gone_on = resume(tmp_path / "stopped")
    for name, array in whole.model.arrays().items():
        assert array.tobytes() == gone_on.model.arrays()[name].tobytes()
