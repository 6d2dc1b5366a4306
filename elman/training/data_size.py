"""A schedule for the size of the data: more epochs and smaller batches where there is little of it.

A recipe states epochs and a batch size, and two minima: steps of the training (`min_steps`) and
batches of an epoch (`min_batches`). Takes these settings and the batches of the data, gives
settings that keep the minima. The settings of the run stay as they are: the same data gives the
same schedule again when a run goes on. Called where a trainer is built.
"""

from __future__ import annotations

import math
from dataclasses import replace

from elman.batches import Batches
from elman.training.settings import TrainingConfig

_SMALLEST_BATCH = 4  # rows; gradients of fewer are mostly noise


def fit_batch_size(config: TrainingConfig, batches: Batches, processes: int = 1) -> int:
    """The batch size of the settings, or a smaller one if the data has too few batches.

    `batches` are those of the settings; several processes need a multiple of their number.
    """
    found = count_steps(config, batches)
    if found >= config.min_batches:
        return config.batch_size
    size = max(_SMALLEST_BATCH, int(config.batch_size * found / config.min_batches))
    size = math.ceil(size / processes) * processes
    return min(size, config.batch_size)


def fit_schedule(config: TrainingConfig, batches: Batches) -> TrainingConfig:
    """The settings with enough epochs; there are as many validations as in the original epochs.

    `batches` are those of training, of `config.batch_size` rows.
    """
    steps = count_steps(config, batches)
    if config.epochs * steps >= config.min_steps:
        return config
    epochs = float(math.ceil(config.min_steps / steps))
    times = epochs / config.epochs
    return replace(config, epochs=epochs, validate_every=config.validate_every * times)


def describe_fit(stated: TrainingConfig, fitted: TrainingConfig) -> list[str]:
    """Notes on what is different from the stated settings."""
    changes = []
    if fitted.epochs != stated.epochs:
        changes.append(
            f"{fitted.epochs:g} epochs instead of {stated.epochs:g} "
            f"(training.min_steps={stated.min_steps})"
        )
    if fitted.batch_size != stated.batch_size:
        changes.append(
            f"batches of {fitted.batch_size} instead of {stated.batch_size} "
            f"(training.min_batches={stated.min_batches})"
        )
    return [f"little data: {', '.join(changes)}"] if changes else []


def count_steps(config: TrainingConfig, batches: Batches) -> float:
    """Steps of an epoch; of a stream with random windows, their mean."""
    known = batches.steps_per_epoch
    if known is not None:
        return known
    return batches.tokens_per_epoch / (config.batch_size * config.window)
