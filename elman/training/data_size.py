"""Adapt the schedule to the size of the data: with little data, more epochs and smaller batches.

A recipe sets epochs and a batch size, and two minima: steps of the whole training (`min_steps`) and
batches per epoch (`min_batches`). Takes these settings and the batches, gives settings that reach
the minima. The settings of the run do not change: on resuming, the same data gives the same
schedule. Called where a trainer is built.
"""

from __future__ import annotations

import math
from dataclasses import replace

from elman.batches import Batches
from elman.training.settings import TrainingConfig

_SMALLEST_BATCH = 4  # rows; gradients of fewer are mostly noise


def fit_batch_size(config: TrainingConfig, batches: Batches, processes: int = 1) -> int:
    """The batch size of the settings, or a smaller one if an epoch has too few batches.

    `batches`: with the batch size of the settings. Processes need a multiple of their number.
    """
    found = count_steps(config, batches)
    if found >= config.min_batches:
        return config.batch_size
    size = max(_SMALLEST_BATCH, int(config.batch_size * found / config.min_batches))
    size = math.ceil(size / processes) * processes
    return min(size, config.batch_size)


def fit_schedule(config: TrainingConfig, batches: Batches) -> TrainingConfig:
    """The settings with enough epochs; the number of validations stays the same.

    `batches`: of the training data, with `config.batch_size` rows.
    """
    steps = count_steps(config, batches)
    if config.epochs * steps >= config.min_steps:
        return config
    epochs = float(math.ceil(config.min_steps / steps))
    times = epochs / config.epochs
    return replace(config, epochs=epochs, validate_every=config.validate_every * times)


def describe_fit(stated: TrainingConfig, fitted: TrainingConfig) -> list[str]:
    """A note on the differences from the stated settings, if there are any."""
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
    """Steps per epoch; the mean number if windows have random lengths."""
    known = batches.steps_per_epoch
    if known is not None:
        return known
    return batches.tokens_per_epoch / (config.batch_size * config.window)
