"""The loop, with a model of one weight whose losses are written down beforehand."""

from __future__ import annotations

import json
import math
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from elman.batches import Batch, Batches
from elman.errors import ElmanError
from elman.state import State
from elman.training import loop
from elman.training.loop import Loop, Progress, Stopped
from elman.training.settings import TrainingConfig
from elman.training.trainer import Snapshot, Trainer

TOKENS = 10  # of a batch


class Counted(Batches):
    """Batches that hold their number."""

    carries_state = True

    def __init__(self, count: int) -> None:
        self._count = count
        self._number = 0
        self.tokens_per_epoch = count * TOKENS

    def next(self) -> Batch | None:
        if self._number == self._count:
            self._number = 0
            return None
        self._number += 1
        ids = torch.full((2, TOKENS // 2), self._number)
        return Batch(ids, ids)

    def position(self) -> dict[str, Any]:
        return {"number": self._number}

    def go_to(self, position: dict[str, Any]) -> None:
        self._number = position["number"]


class Loss:
    def __init__(self, nats: torch.Tensor) -> None:
        self.nats, self.tokens, self.penalty = nats, TOKENS, 0.0


class OneWeight(nn.Module):
    """Every step moves the weight by minus the rate; `trouble` may change the loss of one."""

    def __init__(self, validations: list[float] | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))
        self.validations = list(validations or [])
        self.losses = 0  # that were asked for, retries included
        self.trouble: Callable[[int, torch.Tensor], torch.Tensor] = lambda number, nats: nats

    def loss(self, batch: Batch, carried: State | None) -> tuple[Loss, State]:
        if not self.training:
            if int(batch.inputs[0, 0]) == 1:  # the first batch of a validation
                self.value = self.validations.pop(0)
            return Loss(torch.tensor(self.value * TOKENS)), torch.zeros(2, 1)
        self.losses += 1
        nats = self.trouble(self.losses, self.weight.sum() * TOKENS)
        return Loss(nats), torch.zeros(2, 1)


class Scene:
    """A training that remembers everything that happened."""

    def __init__(
        self, model: OneWeight, batches: int = 10, validated: bool = True, **settings: Any
    ) -> None:
        defaults: dict[str, Any] = {"epochs": 1, "learning_rate": 1.0, "clip": 0.0}
        config = TrainingConfig(**(defaults | settings))
        self.model = model
        self.trainer = Trainer(model, Counted(batches), config, Counted(2) if validated else None)
        self.saved: list[Snapshot] = []
        self.records: list[dict[str, Any]] = []
        self.progress: list[Progress] = []
        self.loop = Loop(
            self.trainer,
            save=self.saved.append,
            record=self.records.append,
            progress=self.progress.append,
            after_step=self.after_step,
        )
        self.steps: list[int] = []
        self.actions: dict[int, Callable[[], Any]] = {}

    def after_step(self, trainer: Trainer) -> None:
        self.steps.append(trainer.step_number)
        self.actions.get(trainer.step_number, lambda: None)()

    def run(self) -> Scene:
        self.loop.run()
        return self

    def validated_at(self) -> list[int]:
        return [record["step"] for record in self.records if "valid_perplexity" in record]

    def saved_at(self) -> list[int]:
        return [snapshot.data["step"] for snapshot in self.saved]


# When what happens ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epochs", "every", "expected"),
    [
        (1, 1, [10]),
        (3, 1, [10, 20, 30]),
        (2.5, 1, [10, 20, 25]),  # and once more at the end
        (0.3, 1, [3]),
        (1, 0.5, [5, 10]),
        (1, 0.3, [3, 6, 9, 10]),
        (0.55, 0.25, [3, 5, 6]),  # with the first step that reaches it
        (0.5, 0.01, [1, 2, 3, 4, 5]),  # no more than after every step
        (2, 3, [20]),
        (1, 0.1, list(range(1, 11))),
    ],
)
def test_when_it_validates(epochs: float, every: float, expected: list[int]) -> None:
    falling = [1 / n for n in range(1, 40)]
    scene = Scene(OneWeight(falling), epochs=epochs, validate_every=every).run()
    assert scene.validated_at() == expected
    assert scene.steps == list(range(1, expected[-1] + 1))
    assert scene.saved_at() == expected  # all were better


def test_the_end_is_saved_even_if_nothing_was_better() -> None:
    scene = Scene(OneWeight([1.0, 2.0, 3.0]), epochs=3).run()
    assert scene.saved_at() == [10, 30]
    last = scene.saved[-1]
    assert last.data["best_step"] == 10
    assert last.best["weight"] == -10
    assert last.weights["weight"] == -30


def test_patience_ends_it() -> None:
    validations = [1.0, 2.0, 0.9, 1.1, 1.2, 1.3, 0.1]
    scene = Scene(OneWeight(validations), epochs=7, patience=3).run()
    assert scene.trainer.step_number == 60
    assert scene.trainer.best_nats == pytest.approx(0.9)
    assert scene.trainer.best["weight"] == -30
    best = [record["best"] for record in scene.records if "best" in record]
    assert best == [True, False, True, False, False, False]
    assert scene.saved_at()[-1] == 60


def test_a_schedule_can_end_it() -> None:
    scene = Scene(OneWeight([1.0, 1.0, 1.0, 1.0]), epochs=9, schedule="halving").run()
    assert scene.trainer.step_number == 30
    assert scene.saved_at()[-1] == 30


def test_without_validation_text_the_last_weights_are_the_best() -> None:
    scene = Scene(OneWeight(), validated=False, epochs=2, validate_every=0.5, patience=1).run()
    assert scene.trainer.step_number == 20
    assert scene.trainer.best["weight"] == -20
    assert scene.validated_at() == []
    assert scene.saved[-1].best["weight"] == -20
    assert [snapshot.data["best_step"] for snapshot in scene.saved] == scene.saved_at()


def test_before_any_validation_the_best_are_those_of_now() -> None:
    scene = Scene(OneWeight([1.0]), save_minutes=0)
    scene.loop._saving_due = lambda: True  # type: ignore[method-assign]
    scene.run()
    assert [float(snapshot.best["weight"]) for snapshot in scene.saved] == [
        -float(step) for step in scene.saved_at()
    ]
    assert len(scene.saved) == 10


def test_without_validation_text_averages_are_the_best_as_soon_as_there_are_any() -> None:
    scene = Scene(OneWeight(), validated=False, average="ema", average_decay=1.0).run()
    assert scene.trainer.best["weight"] == pytest.approx(-5.5)  # the mean of -1 … -10
    assert scene.saved[-1].weights["weight"] == -10


def test_saving_takes_a_small_part_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(loop.time, "perf_counter", lambda: now)
    scene = Scene(OneWeight([1.0]), batches=100, save_minutes=0.5)

    def pass_time() -> None:
        nonlocal now
        now += 10

    def save_slowly(snapshot: Snapshot) -> None:
        nonlocal now
        scene.saved.append(snapshot)
        now += 5

    scene.loop._save_snapshot = save_slowly
    scene.actions = dict.fromkeys(range(101), pass_time)
    scene.run()
    # First after half a minute, then every hundred seconds since each takes five.
    assert scene.saved_at() == [3, *range(13, 100, 10), 100]


# What is told -----------------------------------------------------------------------------------


def test_the_history_tells_the_means_since_the_last_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loop, "_HISTORY_STEPS", 4)
    scene = Scene(OneWeight([0.5]), clip=0.5).run()  # steps of half a unit
    train = [record for record in scene.records if "train_perplexity" in record]
    assert [record["step"] for record in train] == [4, 8, 10]
    assert [record["epoch"] for record in train] == pytest.approx([0.4, 0.8, 1.0])
    # The weight before step n is -(n-1)/2, and the loss per token the weight.
    means = [sum(-(n - 1) / 2 for n in range(a, b)) / (b - a) for a, b in [(1, 5), (5, 9), (9, 11)]]
    assert [math.log(record["train_perplexity"]) for record in train] == pytest.approx(means)
    assert all(record["gradient_norm"] == pytest.approx(1) for record in train)
    assert all(record["clipped"] == 1 for record in train)
    assert all(record["tokens_per_second"] > 0 for record in train)
    assert scene.records[-1]["valid_perplexity"] == pytest.approx(math.exp(0.5))
    json.dumps(scene.records, allow_nan=False)
    assert [progress.epochs for progress in scene.progress] == pytest.approx([0.4, 0.8, 1.0])
    assert scene.progress[-1].seconds_left == 0
    assert scene.progress[0].seconds_left > 0


# Signals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["INT", "TERM"]
)
def test_a_signal_saves_first(number: int, code: int) -> None:
    before = signal.getsignal(number)
    scene = Scene(OneWeight([1.0]))
    scene.actions = {4: lambda: signal.raise_signal(number)}
    with pytest.raises(Stopped) as caught:
        scene.run()
    assert caught.value.exit_code == code
    assert scene.saved_at() == [4]
    assert signal.getsignal(number) is before


def test_a_second_signal_while_saving_breaks_nothing() -> None:
    scene = Scene(OneWeight([1.0]))
    scene.actions = {4: lambda: signal.raise_signal(signal.SIGINT)}
    finished = []

    def save(snapshot: Snapshot) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        finished.append(snapshot.data["step"])

    scene.loop._save_snapshot = save
    with pytest.raises(Stopped) as caught:
        scene.run()
    assert finished == [4]
    assert caught.value.exit_code == 130


def test_a_signal_in_the_last_moment_does_not_undo_a_finished_training() -> None:
    scene = Scene(OneWeight([1.0]))
    scene.loop._save_snapshot = lambda snapshot: signal.raise_signal(signal.SIGTERM)
    scene.run()
    assert scene.trainer.finished


def test_it_runs_in_a_thread_that_gets_no_signals() -> None:
    scene = Scene(OneWeight([1.0]))
    thread = threading.Thread(target=scene.run)
    thread.start()
    thread.join()
    assert scene.saved_at() == [10]


# No number --------------------------------------------------------------------------------------

NAN = torch.tensor(math.nan)


def infinite_gradient(nats: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """A loss of zero whose gradient is infinite."""
    return nats * 0 + torch.sqrt(weight - weight.detach()).sum()


@pytest.mark.parametrize("kind", ["NaN", "infinite", "gradient"])
def test_a_step_that_diverges_once_is_not_applied(kind: str) -> None:
    model = OneWeight([1.0, 2.0])
    replace = {
        "NaN": lambda nats: nats * math.nan,
        "infinite": lambda nats: nats + math.inf,
        "gradient": lambda nats: infinite_gradient(nats, model.weight),
    }[kind]
    model.trouble = lambda number, nats: replace(nats) if number == 4 else nats
    scene = Scene(model, validate_every=0.5).run()
    assert scene.steps == [1, 2, 3, *range(1, 11)]  # back to the start
    assert scene.trainer.rate_factor == 0.5
    assert scene.trainer.model.weight == -5  # ten steps of one half
    assert torch.isfinite(scene.saved[-1].weights["weight"])
    told = [record for record in scene.records if "diverged_at_step" in record]
    assert len(told) == 1
    assert told[0]["diverged_at_step"] == 4
    assert told[0]["rate_factor"] == 0.5
    assert "loss" in told[0]["problem"]
    assert told[0]["step"] == 0
    assert all(snapshot.data["rate_factor"] == 0.5 for snapshot in scene.saved)  # it is kept


def test_it_goes_back_to_the_last_checkpoint() -> None:
    model = OneWeight([1.0, 0.5])
    model.trouble = lambda number, nats: nats * math.nan if number == 8 else nats
    scene = Scene(model, validate_every=0.5).run()
    assert scene.steps == [1, 2, 3, 4, 5, 6, 7, *range(6, 11)]
    assert model.weight == -7.5  # five steps of one, five of one half
    assert scene.saved_at() == [5, 5, 10]  # the second holds the lower rate
    assert [snapshot.data["rate_factor"] for snapshot in scene.saved] == [1, 0.5, 0.5]


def test_rates_fall_with_every_divergence() -> None:
    model = OneWeight([1.0, 0.5])
    model.trouble = lambda number, nats: nats * math.nan if number in (3, 10, 12) else nats
    scene = Scene(model, validate_every=0.5).run()
    told = [record for record in scene.records if "rate_factor" in record]
    # First in step 3, then twice in step 7, after the checkpoint of step 5.
    assert [record["step"] for record in told] == [0, 5, 5]
    assert [record["rate_factor"] for record in told] == [0.5, 0.25, 0.125]
    assert scene.trainer.rate_factor == 0.125


def test_it_gives_up_after_three_returns() -> None:
    model = OneWeight([1.0])
    scene = Scene(model, validate_every=0.5)

    def trouble(number: int, nats: torch.Tensor) -> torch.Tensor:
        return nats * math.nan if scene.trainer.step_number == 7 else nats

    model.trouble = trouble
    with pytest.raises(ElmanError, match=r"diverged \(loss nan.*in step 8, and again after 3") as e:
        scene.run()
    assert e.value.exit_code == 1
    assert scene.steps == [1, 2, 3, 4, 5, 6, 7, 6, 7, 6, 7, 6, 7]
    told = [record["rate_factor"] for record in scene.records if "rate_factor" in record]
    assert told == [0.5, 0.25, 0.125]
    last = scene.saved[-1]
    assert last.data["step"] == 5
    assert last.weights["weight"] == -5


def test_a_checkpoint_after_which_nothing_works_is_not_returned_to() -> None:
    """Weights that are finite can still be ruined: the loss of the next step shows it."""
    model = OneWeight([1.0])
    scene = Scene(model)
    scene.loop._saving_due = lambda: True  # type: ignore[method-assign]

    def trouble(number: int, nats: torch.Tensor) -> torch.Tensor:
        return nats * math.nan if model.weight < -4.9 else nats  # after five whole steps

    model.trouble = trouble
    scene.run()
    assert scene.steps[:7] == [1, 2, 3, 4, 5, 5, 6]  # saved after 5, but went back to after 4
    assert scene.trainer.finished
    assert model.weight.item() == pytest.approx(
        -4.9, abs=0.1
    )  # nearer and nearer, in smaller steps
    told = [record["rate_factor"] for record in scene.records if "rate_factor" in record]
    assert told == [0.5**n for n in range(1, len(told) + 1)]


def test_a_validation_that_is_no_number_is_a_divergence() -> None:
    scene = Scene(OneWeight([1.0, math.nan, 0.9, 0.8]), epochs=3).run()
    told = [record for record in scene.records if "problem" in record]
    assert [record["problem"] for record in told] == ["validation nan"]
    assert scene.trainer.best_nats == pytest.approx(0.8)
    assert scene.trainer.rate_factor == 0.5
    json.dumps(scene.records, allow_nan=False)
    for snapshot in scene.saved:
        assert torch.isfinite(snapshot.weights["weight"])


# Snapshots --------------------------------------------------------------------------------------


def test_a_snapshot_does_not_change_with_the_training() -> None:
    scene = Scene(OneWeight([1.0]), momentum=0.9, average="ema", batches=6)
    snapshots = []
    scene.actions = {3: lambda: snapshots.append((scene.trainer.snapshot(), as_text(scene)))}
    scene.run()
    snapshot, text = snapshots[0]
    assert as_text(scene, snapshot) == text


def as_text(scene: Scene, snapshot: Snapshot | None = None) -> str:
    return str(vars(snapshot or scene.trainer.snapshot()))


def test_restoring_twice_from_one_snapshot_gives_the_same_twice() -> None:
    scene = Scene(OneWeight([1.0] * 9), momentum=0.9, average="ema", epochs=2)
    for _ in range(4):
        scene.trainer.step()
    snapshot = scene.trainer.snapshot()
    ends = []
    for _ in range(2):
        scene.trainer.restore(snapshot)
        for _ in range(5):
            scene.trainer.step()
        ends.append(as_text(scene))
    assert ends[0] == ends[1]
