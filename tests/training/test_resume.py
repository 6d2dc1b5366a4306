"""A run that was stopped and resumed is the run that never stopped, to the last bit.

Every stop here is a real one: a signal in the middle of training, a checkpoint in a run folder, and
`resume`, which builds everything anew from that folder.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from outcome import differences, outcome
from stopping import LINES, OPTIMIZERS, REGIMES, STREAM, recipe, stop_at

from elman.tasks import training_run
from elman.tasks.task import resume, train
from elman.training import loop
from elman.training.loop import Loop, Stopped
from elman.training.trainer import Trainer

pytestmark = pytest.mark.usefixtures("light")

CELLS = ("elman", "gru", "lstm")
PARTS = {  # that have a memory, or learn from what is drawn
    "pointer": ["model.output=pointer", "model.output_options.pointer_window=5"],
    "maxent": ["model.output=maxent", "model.output_options={features = 99, samples = 6}"],
    "nce": ["model.output=nce", "model.output_options.samples=4"],
    "ngram-residual": ["model.output=ngram-residual", "model.output_options.samples=4"],
    "ngram-mixture": ["model.output=ngram-mixture", "model.output_options.order=3"],
    "schedules": [
        "training.partial_shuffle=true",
        "training.window_start=3",
        "training.batch_start=2",
        "training.weight_decay_end=0.01",
        "model.output=sampled",
        "model.output_options={samples = 4, full_last = 0.4}",
    ],
    "topics": ["model.topics=3", "model.topic_words=5"],
    "masks per gate": [
        "model.masks_per_gate=true",
        "model.dropout_input=0.3",
        "model.recurrent_dropout=0.3",
    ],
    "beam": ["training.regime=scheduled-sampling", "training.regime_options.beam=2"],
    "characters": ["model.input=characters", "model.tied=false"],
}


def train_with_stops(out: Path, data: Path, overrides: list[str], steps: Any) -> int:
    """Train, resuming after every stop; how often it stopped."""
    stops = 0
    with stop_at(steps):
        try:
            train(recipe(data), data=str(data), out=out, overrides=overrides, seed=3)
            return stops
        except Stopped:
            stops += 1
        while True:
            try:
                resume(out)
                return stops
            except Stopped:
                stops += 1


def prove_exact(tmp_path: Path, data: Path, overrides: list[str], every: int) -> None:
    train(recipe(data), data=str(data), out=tmp_path / "straight", overrides=overrides, seed=3)
    whole = outcome(tmp_path / "straight")
    assert whole["step"] >= 40
    assert whole["validations"] >= 8
    stops = train_with_stops(tmp_path / "stopped", data, overrides, range(0, 1000, every))
    assert stops >= (whole["step"] - 1) // every
    assert differences(whole, outcome(tmp_path / "stopped")) == []
    if "training.average=nt-asgd" in overrides:
        averaged = [record["averaged"] for record in whole["history"] if "averaged" in record]
        assert averaged[1:-1].count(True) > 2  # there was something to lose, for a while
        assert averaged[0] is False


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_few_stops_leave_no_trace(tmp_path: Path, data: Path, optimizer: str) -> None:
    settings = [*STREAM, f"training.optimizer={optimizer}", *OPTIMIZERS[optimizer]]
    prove_exact(tmp_path, data, settings, 5)


def test_a_few_stops_leave_no_trace_with_lines(tmp_path: Path, data: Path) -> None:
    prove_exact(tmp_path, data, [*LINES, *OPTIMIZERS["sgd"]], 5)


@pytest.mark.parametrize("parts", PARTS)
def test_a_few_stops_leave_no_trace_in_what_looks_back(
    tmp_path: Path, data: Path, parts: str
) -> None:
    settings = [*STREAM, "training.optimizer=adam", *OPTIMIZERS["adam"], *PARTS[parts]]
    prove_exact(tmp_path, data, settings, 12)


@pytest.mark.parametrize("regime", REGIMES)
def test_a_few_stops_leave_no_trace_in_any_regime(tmp_path: Path, data: Path, regime: str) -> None:
    settings = [*STREAM, *OPTIMIZERS["sgd"], f"training.regime={regime}", *REGIMES[regime]]
    prove_exact(tmp_path, data, settings, 12)


@pytest.mark.slow
@pytest.mark.parametrize("batches", [STREAM, LINES], ids=["stream", "lines"])
@pytest.mark.parametrize("regime", REGIMES)
def test_a_stop_after_every_step_leaves_no_trace_in_any_regime(
    tmp_path: Path, data: Path, regime: str, batches: list[str]
) -> None:
    settings = [*batches, *OPTIMIZERS["sgd"], f"training.regime={regime}", *REGIMES[regime]]
    prove_exact(tmp_path, data, settings, 1)


@pytest.mark.slow
@pytest.mark.parametrize("batches", [STREAM, LINES], ids=["stream", "lines"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("cell", CELLS)
def test_a_stop_after_every_step_leaves_no_trace(
    tmp_path: Path, data: Path, cell: str, optimizer: str, batches: list[str]
) -> None:
    settings = [*batches, f"training.optimizer={optimizer}", *OPTIMIZERS[optimizer]]
    prove_exact(tmp_path, data, [*settings, f"model.cell={cell}"], 1)


# Looking changes nothing ------------------------------------------------------------------------


def look(trainer: Trainer) -> None:
    """Evaluate, sample and take a snapshot."""
    model = trainer.model.eval()
    with torch.no_grad():
        state = model.start(3)
        for _ in range(4):
            drawn = torch.multinomial(model.predict(state).exp(), 1)
            state = model.read(drawn, state)
        model.score(torch.zeros((2, 5), dtype=torch.long), model.start(2))
    trainer.snapshot()


def test_looking_and_saving_after_every_step_changes_nothing(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overrides = [*STREAM, *OPTIMIZERS["sgd"], "training.epochs=1.2"]
    train(recipe(data), data=str(data), out=tmp_path / "plain", overrides=overrides)
    plain = outcome(tmp_path / "plain")
    monkeypatch.setattr(training_run, "Loop", partial(Loop, after_step=look))
    monkeypatch.setattr(Loop, "_saving_due", lambda self: True)
    train(recipe(data), data=str(data), out=tmp_path / "watched", overrides=overrides)
    assert differences(plain, outcome(tmp_path / "watched")) == []
    monkeypatch.setattr(loop, "undisturbed", nullcontext)  # the test sees a disturbance
    train(recipe(data), data=str(data), out=tmp_path / "disturbed", overrides=overrides)
    assert differences(plain, outcome(tmp_path / "disturbed")) != []
