"""The pacer: a training ends in time, whatever its speed, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from one_weight import OneWeight, Scene

from elman.training.pacing import Pacer
from elman.training.trainer import Trainer


class Paced(Scene):
    """A training whose steps and validations take as long as the test says."""

    def __init__(
        self,
        seconds: float,
        step: Callable[[float], float],
        *,
        validation: float = 0.0,
        first: float = 0.0,
        believed: float = 0.0,
        most: float = 1e6,
        **settings: float,
    ) -> None:
        super().__init__(OneWeight([1 / n for n in range(1, 2000)]), batches=100, **settings)
        self.now, self.step_takes = 0.0, step
        self.pacer = Pacer(
            seconds,
            validation_seconds=believed,
            ending_seconds=1.0,
            most_epochs=most,
            clock=lambda: self.now,
        )
        validate = self.trainer.validate

        def slowly(*pause: Callable[[], None]) -> float | None:
            self.now += validation if self.validated_at() else validation + first
            return validate(*pause)

        self.trainer.validate = slowly  # type: ignore[method-assign]

    def after_step(self, trainer: Trainer) -> None:
        self.now += self.step_takes(self.now)
        self.pacer(trainer)


@pytest.mark.parametrize("planned", [1.0, 10.0, 300.0], ids=["short", "right", "long"])
def test_a_wrong_estimate_is_corrected(planned: float) -> None:
    scene = Paced(101, lambda now: 0.1, epochs=planned, validate_every=1000)
    scene.run()
    assert scene.now == pytest.approx(100, abs=1.5)
    assert scene.trainer.epochs_done == pytest.approx(10, rel=0.02)


def test_a_machine_that_slows_down() -> None:
    scene = Paced(101, lambda now: 0.1 if now < 50 else 0.5, epochs=10, validate_every=1000)
    scene.run()
    assert scene.now == pytest.approx(100, abs=2)
    assert scene.trainer.epochs_done == pytest.approx(6, rel=0.05)


def test_validations_are_counted() -> None:
    scene = Paced(101, lambda now: 0.1, validation=5.0, epochs=10, validate_every=1)
    scene.run()
    assert scene.now == pytest.approx(100, abs=5.5)
    assert scene.now <= 101  # the last validation included


def test_validations_to_come_are_planned_for() -> None:
    """So the schedule knows the length from early on, and does not shrink at every validation."""
    scene = Paced(301, lambda now: 0.1, validation=5.0, epochs=10, validate_every=1)
    planned: list[float] = []
    scene.actions = {300: lambda: planned.append(scene.trainer.config.epochs)}
    pace = scene.after_step

    def after_step(trainer: Trainer) -> None:
        pace(trainer)
        scene.actions.get(trainer.counters.step, lambda: None)()

    scene.loop._after_step = after_step
    scene.run()
    assert planned[0] == pytest.approx(scene.trainer.epochs_done, rel=0.05)


def test_a_first_validation_that_takes_long_does_not_shorten_the_rest() -> None:
    """The first one that is saved also draws the curves, which imports a library."""
    scene = Paced(11, lambda now: 0.1, first=4.0, epochs=0.6, validate_every=0.25)
    scene.run()
    assert scene.now == pytest.approx(10, abs=0.5)
    assert scene.trainer.epochs_done == pytest.approx(0.6, rel=0.05)


def test_a_step_that_takes_longer_than_what_is_left_is_the_last() -> None:
    scene = Paced(10, lambda now: 20.0, epochs=10)
    scene.run()
    assert scene.trainer.counters.step == 1
    assert scene.validated_at() == [1]  # and it is validated and saved
    assert scene.saved_at() == [1]


def test_no_more_epochs_than_the_data_can_use() -> None:
    scene = Paced(1000, lambda now: 0.1, most=3.0, epochs=1, validate_every=1000)
    scene.run()
    assert scene.trainer.epochs_done == pytest.approx(3, rel=0.02)


def test_the_learning_rate_falls_to_the_end() -> None:
    settings = {"schedule": "linear", "epochs": 40, "validate_every": 1000}
    scene = Paced(101, lambda now: 0.1, **settings)  # type: ignore[arg-type]
    scene.run()
    rates = [record["learning_rate"] for record in scene.records if "learning_rate" in record]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] < 0.05
