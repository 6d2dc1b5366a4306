"""A tagger's training that was stopped and resumed is the one that never stopped, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from outcome import differences, outcome
from stopping import stop_at
from tagged import train_tagger, write_tagged

from elman.errors import InputError
from elman.tasks.task import resume
from elman.training.loop import Stopped

pytestmark = pytest.mark.usefixtures("without_curves")

SETTINGS = {
    "crf": [],
    "softmax, average": ["model.output=softmax", "training.average=ema", "training.warm_up=0.2"],
    "rnn": ["model.characters=rnn", "model.weight_drop=0.2", "training.schedule=plateau"],
    "window": ["model.encoder=window", "training.schedule=linear"],
}
EPOCHS = "training.epochs=2.1"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_tagged(tmp_path / "data")


def finish(out: Path) -> int:
    """Resume until it is done; how often it stopped."""
    stops = 0
    while True:
        try:
            resume(out)
            return stops
        except Stopped:
            stops += 1


def train_with_stops(data: Path, out: Path, settings: list[str], steps: Any) -> int:
    with stop_at(steps):
        with pytest.raises(Stopped):
            train_tagger(data, out, *settings, EPOCHS)
        return 1 + finish(out)


@pytest.mark.parametrize("name", SETTINGS)
def test_stops_leave_no_trace(data: Path, tmp_path: Path, name: str) -> None:
    settings = SETTINGS[name]
    train_tagger(data, tmp_path / "straight", *settings, EPOCHS)
    whole = outcome(tmp_path / "straight")
    stops = train_with_stops(data, tmp_path / "stopped", settings, range(0, 1000, 7))
    assert stops >= 5
    assert differences(whole, outcome(tmp_path / "stopped")) == []


def test_another_text_is_refused_and_one_that_has_moved_is_found(
    data: Path, out: Path, tmp_path: Path
) -> None:
    with stop_at([5]), pytest.raises(Stopped):
        train_tagger(data, out, EPOCHS)
    before = (data / "train.txt").read_text()
    (data / "train.txt").write_text(before + "\nAnn B-PER\n")
    with pytest.raises(InputError, match="is not the text that .*run was trained on; .*--data"):
        resume(out)
    (data / "train.txt").write_text(before)
    data.rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="no such file.*has moved, give its new path with --data"):
        resume(out)
    assert resume(out, data=str(tmp_path / "elsewhere")).facts["training"]["finished"]
