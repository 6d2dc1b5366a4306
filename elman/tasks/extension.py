"""Train a finished run for longer: more epochs, or more patience.

Takes the settings and facts of a run and the changes, gives new settings; the training continues
from the last checkpoint. Schedules that depend on the length of the training use the new length, so
the result differs from a run that had as many epochs from the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from elman.config import apply_overrides
from elman.errors import InputError
from elman.recipes import RunConfig, config_from_data
from elman.training.trainer import Trainer

_EXTENDS = ("training.epochs", "training.patience")


def extend(
    path: Path, config: RunConfig, facts: dict[str, Any], overrides: Sequence[str]
) -> RunConfig:
    """The settings of a run with more epochs or patience; the validation interval stays."""
    names = [override.partition("=")[0].strip() for override in overrides]
    if other := [name for name in names if name not in _EXTENDS]:
        raise InputError(
            f"{path}: --resume continues the run with its own settings; only "
            f"{' and '.join(_EXTENDS)} can be changed, not {other[0]}"
        )
    stated = config.training
    planned = facts.get("training", {}).get("of_epochs", stated.epochs)
    training = replace(
        stated,
        epochs=planned,
        min_steps=0,
        validate_every=stated.validate_every * planned / stated.epochs,
    )
    data = replace(config, training=training).to_data()
    return config_from_data(apply_overrides(data, overrides))


def refuse_nothing_left(path: Path, trainer: Trainer) -> None:
    """Refuse to resume a run that is already finished under its new settings."""
    if trainer.epochs_done >= trainer.config.epochs:
        raise InputError(
            f"{path}: the run has {trainer.epochs_done:g} epochs already; set "
            "training.epochs to a larger number"
        )
    if trainer.schedule.finished:
        raise InputError(
            f"{path}: the schedule ended the training; to start from these weights, use: "
            "elman train RECIPE --from"
        )
    if trainer.ended_early:
        raise InputError(
            f"{path}: early stopping ended the run after {trainer.counters.waited} validations "
            "without improvement; to continue, add --set training.patience=N with a larger number"
        )
