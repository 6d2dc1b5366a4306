"""Train a finished run for longer."""

from __future__ import annotations

from pathlib import Path

import pytest
from outcome import differences, outcome
from stopping import stop_at
from tiny import train_tiny

from elman.errors import InputError
from elman.runs.folder import read_run
from elman.tasks.task import load, resume
from elman.training.loop import Stopped

pytestmark = pytest.mark.usefixtures("without_curves")
LONGER = ("training.epochs=4",)


def test_a_finished_run_goes_on_with_more_epochs(data: Path, out: Path) -> None:
    before = train_tiny(data, out)
    steps = before.facts["training"]["steps"]
    after = resume(out, overrides=LONGER)
    assert after.facts["training"]["epochs"] == 4
    assert after.facts["training"]["steps"] == 2 * steps
    assert after.facts["extended"] == [2]
    assert after.config.training.epochs == load(out).config.training.epochs == 4
    assert read_run(out)["config.json"]["training"]["epochs"] == 4
    assert after.facts["validation"]["perplexity"] <= before.facts["validation"]["perplexity"]


def test_stopped_while_it_goes_on_it_comes_to_the_same(data: Path, tmp_path: Path) -> None:
    for name in ("straight", "stopped"):
        train_tiny(data, tmp_path / name)
    resume(tmp_path / "straight", overrides=LONGER)
    begun = outcome(tmp_path / "stopped")["step"]
    with stop_at([begun + 3]), pytest.raises(Stopped):
        resume(tmp_path / "stopped", overrides=LONGER)
    resume(tmp_path / "stopped")
    assert differences(outcome(tmp_path / "straight"), outcome(tmp_path / "stopped")) == []


def test_the_derived_schedule_is_what_is_extended(data: Path, out: Path) -> None:
    train_tiny(data, out, "training.epochs=1", "training.min_steps=40")
    first = read_run(out)["facts.json"]["training"]
    assert first["of_epochs"] > 1
    after = resume(out, overrides=[f"training.epochs={first['of_epochs'] + 1}"])
    assert after.config.training.min_steps == 0
    assert after.config.training.validate_every == first["of_epochs"]  # once in these, as before
    assert after.facts["training"]["epochs"] == first["of_epochs"] + 1


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["training.epochs=2"], "has 2 epochs already; set training.epochs to a larger"),
        (["model.hidden_size=8"], "only training.epochs and training.patience can be changed"),
        (["training.epochs=many"], "training.epochs='many'"),
    ],
)
def test_invalid_changes_are_refused(
    data: Path, out: Path, overrides: list[str], message: str
) -> None:
    train_tiny(data, out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(InputError, match=message):
        resume(out, overrides=overrides)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_early_stopping_is_not_overruled_silently(data: Path, out: Path) -> None:
    # With this learning rate, the second validation cannot be better than the first.
    trained = train_tiny(data, out, "training.learning_rate=1e-30", "training.patience=1")
    assert trained.facts["training"]["ended_early"] is True
    with pytest.raises(InputError, match="early stopping ended the run .*training.patience"):
        resume(out, overrides=["training.epochs=9"])
    assert resume(out, overrides=["training.epochs=3", "training.patience=5"])
