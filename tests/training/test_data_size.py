"""A schedule for the size of the data: more epochs and smaller batches where there is little."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from elman.batches import Stream
from elman.batches.batch import Batches
from elman.training.data_size import count_steps, describe_fit, fit_batch_size, fit_schedule
from elman.training.settings import TrainingConfig


class Counted(Batches):
    """So many batches per epoch."""

    carries_state = False

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self.tokens_per_epoch = 10 * steps

    @property
    def steps_per_epoch(self) -> int:
        return self._steps

    def next(self) -> Any:
        return None

    def position(self) -> dict[str, Any]:
        return {}

    def go_to(self, position: dict[str, Any]) -> None:
        pass


@pytest.mark.parametrize(
    ("steps", "size"),
    [
        (50, 32),  # enough
        (16, 10),  # 32 · 16 / 50 = 10.24
        (1, 4),  # 0.64, but never fewer than four
    ],
)
def test_little_data_is_cut_into_smaller_batches(steps: int, size: int) -> None:
    config = TrainingConfig(batch_size=32, min_batches=50)
    assert fit_batch_size(config, Counted(steps)) == size


def test_a_small_batch_stays_and_processes_share_evenly() -> None:
    assert fit_batch_size(TrainingConfig(batch_size=2, min_batches=50), Counted(1)) == 2
    config = TrainingConfig(batch_size=32, min_batches=50)
    assert fit_batch_size(config, Counted(16), processes=4) == 12  # 10, up to a multiple of four


def test_without_minima_everything_stays() -> None:
    config = TrainingConfig(epochs=0.5, batch_size=32)
    assert fit_batch_size(config, Counted(1)) == 32
    assert fit_schedule(config, Counted(1)) == config
    assert describe_fit(config, config) == []


def test_epochs_are_raised_to_the_least_number_of_steps() -> None:
    config = TrainingConfig(epochs=10, min_steps=2000, validate_every=0.5)
    fitted = fit_schedule(config, Counted(16))
    assert fitted.epochs == 125  # 2000 / 16
    assert fitted.validate_every == 6.25  # twenty validations, as in ten epochs
    assert (config.epochs, config.validate_every) == (10, 0.5)
    assert fit_schedule(config, Counted(200)) == config
    assert fit_schedule(config, Counted(199)).epochs == 11  # 10.05, in whole epochs


def test_a_stream_counts_its_windows() -> None:
    stream = Stream(np.arange(101) % 7, batch_size=4, window=5)  # 4 columns of 25, 24 predicted
    config = TrainingConfig(batch_size=4, window=5, min_steps=100, epochs=1)
    assert count_steps(config, stream) == pytest.approx(96 / 20)
    assert fit_schedule(config, stream).epochs == 21  # 100 / 4.8


def test_the_notes_name_the_settings() -> None:
    stated = TrainingConfig(epochs=10, min_steps=2000, batch_size=32, min_batches=50)
    fitted = TrainingConfig(epochs=125, min_steps=2000, batch_size=10, min_batches=50)
    assert describe_fit(stated, fitted) == [
        "little data: 125 epochs instead of 10 (training.min_steps=2000), "
        "batches of 10 instead of 32 (training.min_batches=50)"
    ]
