"""What a measurement says: a speed, and whether it can be trusted."""

import math

import pytest
from one_weight import OneWeight, Scene

from elman.training import probe
from elman.training.probe import Speed, measure_speed


class Clock:
    """Time that a step takes, some of which other programs may take away."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, trainer, steps, running: float) -> None:
        self.now, self.ran = 0.0, 0.0
        monkeypatch.setattr(probe.time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(probe.time, "thread_time", lambda: self.ran)
        step = trainer.step

        def slowly():
            takes = steps(trainer.counters.step)
            self.now, self.ran = self.now + takes, self.ran + running * takes
            return step()

        trainer.step = slowly


def measured(monkeypatch: pytest.MonkeyPatch, steps, running: float = 1.0) -> Speed:
    scene = Scene(OneWeight([1.0] * 50), batches=100)
    Clock(monkeypatch, scene.trainer, steps, running)
    return measure_speed(scene.trainer, 6.0)


def test_a_steady_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    speed = measured(monkeypatch, lambda step: 3.0 if step < 2 else 0.05)  # two to warm up
    assert speed.tokens_per_second == pytest.approx(10 / 0.05)
    assert speed.steady
    assert speed.note() is None


def test_a_machine_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    speed = measured(monkeypatch, lambda step: 0.02 * 1.02**step)
    assert not speed.steady
    assert "varies" in str(speed.note())


def test_a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    speed = measured(monkeypatch, lambda step: 0.05, running=0.6)
    assert "the machine is busy: other programs took 40%" in str(speed.note())


def test_without_validation_there_is_nothing_to_wait_for() -> None:
    scene = Scene(OneWeight(), batches=100, validated=False)
    assert measure_speed(scene.trainer, 0.01).validation_speed == math.inf


def test_a_measurement_leaves_the_validation_where_it_was() -> None:
    scene = Scene(OneWeight([1.0] * 50), batches=100)
    validation = scene.trainer.validation
    assert validation is not None
    measure_speed(scene.trainer, 0.01)
    assert validation.position() == {"number": 0}
