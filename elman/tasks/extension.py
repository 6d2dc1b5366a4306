"""A run that is trained for longer than it was meant to: more epochs, or more patience.

Takes the settings and facts of a run and what is to be changed, gives new settings; the run goes on
from its last checkpoint. Schedules that hang on the length of the training follow the new length,
so the result is not that of a run which had so many epochs from the start.
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
    """The settings of a run with more epochs or patience; it validates as often as before."""
    names = [override.partition("=")[0].strip() for override in overrides]
    if other := [name for name in names if name not in _EXTENDS]:
        raise InputError(
            f"{path}: --resume goes on with the run as it is; of its settings, only "
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
    """An InputError if a run is finished with its new settings too."""
    if trainer.epochs_done >= trainer.config.epochs:
        raise InputError(
            f"{path}: has {trainer.epochs_done:g} epochs already; to train on, set "
            "training.epochs to more than that"
        )
    if trainer.schedule.finished:
        raise InputError(
            f"{path}: its schedule ended the training; start from these weights with: "
            "elman train RECIPE --from"
        )
    if trainer.ended_early:
        raise InputError(
            f"{path}: {trainer.counters.waited} validations brought no gain, and early stopping "
            "ended the run; to train on, add --set training.patience=… with a larger number"
        )
