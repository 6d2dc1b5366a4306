"""The training loop, with a model of one weight and predefined losses."""

from __future__ import annotations

import json
import math
import signal
import threading

import pytest
from one_weight import OneWeight, Scene

from elman.training import loop
from elman.training.loop import Stopped
from elman.training.snapshot import Snapshot

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
    assert scene.trainer.counters.step == 60
    assert scene.trainer.counters.best_nats == pytest.approx(0.9)
    assert scene.trainer.best["weight"] == -30
    best = [record["best"] for record in scene.records if "best" in record]
    assert best == [True, False, True, False, False, False]
    assert scene.saved_at()[-1] == 60


def test_a_schedule_can_end_it() -> None:
    scene = Scene(OneWeight([1.0, 1.0, 1.0, 1.0]), epochs=9, schedule="halving").run()
    assert scene.trainer.counters.step == 30
    assert scene.saved_at()[-1] == 30


def test_without_validation_text_the_last_weights_are_the_best() -> None:
    scene = Scene(OneWeight(), validated=False, epochs=2, validate_every=0.5, patience=1).run()
    assert scene.trainer.counters.step == 20
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
