"""An old run is replaced when the new one has its first checkpoint, not before."""

from __future__ import annotations

import math
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from outcome import differences, outcome
from tiny import train_tiny, weights

from elman.errors import ElmanError, InputError
from elman.models.recurrent import RecurrentModel
from elman.tasks.language_modelling.counting import Counting
from elman.tasks.task import load, resume, train
from elman.training.loop import Stopped
from elman.training.trainer import Trainer

pytestmark = pytest.mark.usefixtures("without_curves")


@pytest.fixture
def old(data: Path, out: Path) -> dict[str, bytes]:
    """The weights of an existing run."""
    return weights(train_tiny(data, out, "training.epochs=0.3"))


def left(out: Path) -> list[str]:
    return sorted(path.name for path in out.parent.iterdir() if out.name in path.name)


def test_a_finished_run_is_there_until_the_new_one_has_a_checkpoint(
    data: Path, out: Path, old: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    step = Trainer.step

    def looking(self: Trainer) -> Any:
        shown = step(self)
        seen.append(weights(load(out)) == old)
        return shown

    monkeypatch.setattr(Trainer, "step", looking)
    new = train_tiny(data, out, overwrite=True, seed=7)
    first_validation = seen.index(False)
    assert first_validation > 3
    assert not any(seen[first_validation:])
    assert weights(load(out)) == weights(new) != old
    assert left(out) == ["run"]


def test_a_training_that_fails_before_its_first_checkpoint_leaves_the_old_run(
    data: Path, out: Path, old: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    loss = RecurrentModel.loss

    def spoil(self: RecurrentModel, batch: Any, carried: Any) -> Any:
        shown, state = loss(self, batch, carried)
        return type(shown)(shown.nats * math.nan, shown.tokens, shown.penalty), state

    monkeypatch.setattr(RecurrentModel, "loss", spoil)
    with pytest.raises(
        ElmanError, match=r"training diverged .*run still contains the previous run"
    ):
        train_tiny(data, out, overwrite=True)
    monkeypatch.undo()
    assert weights(load(out)) == old
    assert left(out) == ["run"]


@pytest.mark.parametrize("kilobytes", [120, 140, 150, 160, 170, 180])
def test_a_full_disk_leaves_the_old_run(data: Path, disk_of: Any, kilobytes: int) -> None:
    out = disk_of(f"{kilobytes}k") / "run"
    train_tiny(data, out, "training.epochs=0.3")
    before, problem = outcome(out), ""
    try:
        train_tiny(data, out, "model.hidden_size=40", overwrite=True)
    except ElmanError as error:
        problem = str(error)
    found = outcome(out)  # every file is whole
    if problem:
        assert "full" in problem or "No space left" in problem
        assert differences(before, found) == []


def test_stopped_after_a_step_the_new_run_is_saved_and_goes_on(
    data: Path, tmp_path: Path, out: Path, old: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train_tiny(data, tmp_path / "whole", seed=7)
    step = Trainer.step

    def stopping(self: Trainer) -> Any:
        if self.counters.step == 2:
            signal.raise_signal(signal.SIGTERM)
        return step(self)

    monkeypatch.setattr(Trainer, "step", stopping)
    with pytest.raises(Stopped, match="everything is saved") as stopped:
        train_tiny(data, out, overwrite=True, seed=7)
    assert stopped.value.exit_code == 128 + signal.SIGTERM
    monkeypatch.undo()
    monkeypatch.setattr("elman.tasks.training_run.draw_curves", lambda records, path: None)
    assert weights(resume(out)) == weights(whole)
    assert left(out) == ["run"]


def test_a_run_in_training_is_neither_overwritten_nor_resumed_nor_made_twice(
    data: Path, tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train_tiny(data, tmp_path / "whole")
    refused: list[str] = []
    step = Trainer.step

    def intruding(self: Trainer) -> Any:
        if self.counters.step == 3 and threading.current_thread() is threading.main_thread():
            for intruder in (
                lambda: train("ngram", data=str(data), out=out, overwrite=True),
                lambda: train("ngram", data=str(data), out=out),
                lambda: train_tiny(data, out, overwrite=True),
                lambda: resume(out),
            ):
                with pytest.raises(InputError) as error:
                    intruder()
                refused.append(str(error.value))
        return step(self)

    monkeypatch.setattr(Trainer, "step", intruding)
    train_tiny(data, out)
    assert len(refused) == 4
    assert sum("by another process" in message for message in refused) == 3
    assert differences(outcome(tmp_path / "whole"), outcome(out)) == []
    assert weights(load(out)) == weights(whole)


def test_two_countings_of_one_name(data: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count, told = Counting._count, []

    def counting(*arguments: Any) -> Any:
        found = count(*arguments)
        if not told:
            told.append("")
            with pytest.raises(InputError, match="is being written by another process"):
                train("laplace", data=str(data), out=out)
        return found

    monkeypatch.setattr(Counting, "_count", counting)
    train("ngram", data=str(data), out=out)
    assert load(out).config.recipe == "ngram"
    assert left(out) == ["run"]


def test_a_text_whose_name_is_not_utf8(tmp_path: Path, data: Path, out: Path) -> None:
    odd = tmp_path / os.fsdecode(b"caf\xe9.txt")
    odd.write_bytes((data / "train.txt").read_bytes())
    trained = train_tiny(odd, out)
    assert load(out).facts["data"]["name"] == str(odd) == trained.facts["data"]["name"]
    train("ngram", data=str(odd), out=tmp_path / "counts")
    assert load(tmp_path / "counts").facts["data"]["name"] == str(odd)
    assert resume(out).facts["training"]["finished"] is True
