"""Trainings on little data: the derived schedule in facts and plans; stops leave no trace."""

from __future__ import annotations

from pathlib import Path

import pytest
from films import SMALL, draw_texts, write_texts
from outcome import differences, outcome
from stopping import stop_at

import elman
from elman.recipes import load_recipe
from elman.runs.folder import read_run
from elman.tasks import planning
from elman.tasks.task import plan, resume
from elman.training.loop import Stopped

pytestmark = pytest.mark.usefixtures("without_curves")

MINIMA = ("training.min_steps=60", "training.min_batches=10")
KEPT = [word for word in SMALL if "epochs" not in word and "batch_size" not in word]
# 40 texts: 5 batches of 8 become 10 of 4; two epochs of them become six, 60 steps.
LITTLE = [*KEPT, "training.epochs=2", "training.batch_size=8", *MINIMA]


@pytest.fixture
def data(tmp_path: Path) -> str:
    return write_texts(tmp_path / "data", train=draw_texts(40, 0), valid=draw_texts(20, 1))


def test_the_schedule_is_a_fact_and_the_settings_stay(data: str, tmp_path: Path) -> None:
    trained = elman.train("classifier", data=data, out=tmp_path / "run", overrides=LITTLE)
    training = trained.facts["training"]
    assert (training["of_epochs"], training["batch_size"]) == (6, 4)
    assert training["steps"] <= 60
    assert (trained.config.training.epochs, trained.config.training.batch_size) == (2, 8)
    assert read_run(tmp_path / "run")["config.json"]["training"]["epochs"] == 2
    assert any(note.startswith("little data: 6 epochs") for note in trained.facts["data"]["notes"])


def test_a_plan_shows_it(data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "_PROBE_SECONDS", 0.01)
    cost = plan("classifier", data=data, overrides=LITTLE)
    assert (cost.epochs, cost.steps) == (6, 60)
    assert any(note.startswith("little data: 6 epochs") for note in cost.notes)


def test_stops_leave_no_trace(data: str, tmp_path: Path) -> None:
    settings = [*LITTLE, "training.validate_every=0.5", "training.patience=0"]
    elman.train("classifier", data=data, out=tmp_path / "straight", overrides=settings)
    with stop_at([7, 30, 41]):
        with pytest.raises(Stopped):
            elman.train("classifier", data=data, out=tmp_path / "stopped", overrides=settings)
        for _ in range(2):
            with pytest.raises(Stopped):
                resume(tmp_path / "stopped")
        resume(tmp_path / "stopped")
    assert outcome(tmp_path / "straight")["step"] == 60
    assert differences(outcome(tmp_path / "straight"), outcome(tmp_path / "stopped")) == []


ADAPTING = ["classifier", "tagger", "chunker", "answerer", "translator", "translator-no-attention"]


@pytest.mark.parametrize("name", [*ADAPTING, "summariser", "captioner"])
def test_epochs_and_batch_sizes_that_are_given_are_meant(name: str) -> None:
    assert load_recipe(name).training.min_steps > 0
    assert load_recipe(name).training.patience > 0
    given = load_recipe(name, ["training.epochs=3", "training.batch_size=7"]).training
    assert (given.epochs, given.min_steps, given.batch_size, given.min_batches) == (3, 0, 7, 0)
    both = load_recipe(name, ["training.min_steps=5", "training.epochs=3"]).training
    assert (both.epochs, both.min_steps) == (3, 5)
