"""Signals: training saves and stops, also during validation; a second Ctrl-C stops at once."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import pytest
from one_weight import OneWeight, Scene
from outcome import differences, outcome
from tiny import train_tiny, write_sentences

from elman.tasks.task import resume
from elman.training import loop
from elman.training.loop import Stopped
from elman.training.trainer import Trainer

pytestmark = pytest.mark.usefixtures("without_curves")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_sentences(tmp_path / "data")


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("validation", [1, 3])
def test_stopped_during_validation_it_goes_on_bit_for_bit(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, validation: int, batch: int
) -> None:
    settings = ["training.validate_every=0.5", "training.patience=9"]
    train_tiny(data, tmp_path / "whole", *settings)
    judge, judged, batches = Trainer.judge, 0, 0

    def interrupted(self: Trainer, model: Any, validating: Any, pause: Any) -> float:
        nonlocal judged, batches
        judged += 1
        batches = 0

        def pausing() -> None:
            nonlocal batches
            batches += 1
            if judged == validation and batches == batch:
                signal.raise_signal(signal.SIGTERM)
            pause()

        return judge(self, model, validating, pausing)

    monkeypatch.setattr(Trainer, "judge", interrupted)
    with pytest.raises(Stopped):
        train_tiny(data, tmp_path / "run", *settings)
    assert judged == validation
    assert batches == batch  # the rest of the validation was not waited for
    monkeypatch.setattr(Trainer, "judge", judge)
    resume(tmp_path / "run")
    assert differences(outcome(tmp_path / "whole"), outcome(tmp_path / "run")) == []


def stopped_by(*numbers: int, apart: float = 0.0) -> Scene:
    """A training that gets signals in its third step."""
    scene = Scene(OneWeight([1.0] * 9), epochs=3)
    step = scene.trainer.step

    def stopping() -> Any:
        shown = step()
        if scene.trainer.counters.step == 3:
            for number in numbers:
                signal.raise_signal(number)
                time.sleep(apart)
        return shown

    scene.trainer.step = stopping  # type: ignore[method-assign]
    return scene


def test_the_end_of_a_terminal_saves() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests may run under nohup
    try:
        scene = stopped_by(signal.SIGHUP)
        with pytest.raises(Stopped) as stopped:
            scene.run()
    finally:
        signal.signal(signal.SIGHUP, before)
    assert stopped.value.exit_code == 128 + signal.SIGHUP
    assert scene.saved_at() == [3]


def test_unless_it_is_to_be_outlived() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        scene = stopped_by(signal.SIGHUP).run()
    finally:
        signal.signal(signal.SIGHUP, before)
    assert scene.trainer.counters.step == 30


def test_a_second_ctrl_c_stops_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "_SAME_CTRL_C", 0.01)
    scene = stopped_by(signal.SIGINT, signal.SIGINT, apart=0.05)
    with pytest.raises(KeyboardInterrupt):
        scene.run()
    assert scene.saved_at() == []


def test_the_echo_of_a_ctrl_c_is_no_second_one() -> None:
    scene = stopped_by(signal.SIGINT, signal.SIGINT)
    with pytest.raises(Stopped):
        scene.run()
    assert scene.saved_at() == [3]
