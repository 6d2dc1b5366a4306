"""Impossible settings are refused in one line that names the setting."""

import pytest
import torch
from refusals import assert_refused

from elman.errors import InputError
from elman.recipes import load_recipe
from elman.training.optimizers import OPTIMIZERS
from elman.training.settings import TrainingConfig

NAN = float("nan")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"optimizer": "sdg"}, "unknown optimizer 'sdg'; did you mean 'sgd'"),
        ({"schedule": "cosin"}, "unknown schedule 'cosin'; did you mean 'cosine'"),
        ({"average": "asgd"}, "unknown average 'asgd'; did you mean 'nt-asgd'"),
        ({"loss_per": "batch"}, "unknown training.loss_per 'batch'"),
        *(
            ({name: value}, f"training.{name}={value}: must be above 0")
            for name, value in {
                "epochs": 0.0,
                "batch_size": 0,
                "window": -1,
                "learning_rate": 0.0,
                "validate_every": -0.5,
            }.items()
        ),
        ({"learning_rate": NAN}, "learning_rate=nan: must be above 0"),
        ({"weight_decay_end": -0.1}, "training.weight_decay_end=-0.1: must not be negative"),
        ({"window_start": -1}, "training.window_start=-1: must not be negative"),
        ({"batch_start": -1}, "training.batch_start=-1: must not be negative"),
        *(
            ({name: -1.0}, f"training.{name}=-1.0: must not be negative")
            for name in (
                "clip",
                "window_jitter",
                "dampening",
                "weight_decay",
                "epsilon",
                "accumulator",
                "hold",
                "save_minutes",
            )
        ),
        *(
            ({name: -1}, f"training.{name}=-1: must not be negative")
            for name in ("schedule_patience", "trigger", "patience")
        ),
        ({"clip": NAN}, "clip=nan: must not be negative"),
        ({"momentum": 1.1}, "training.momentum=1.1: must be from 0 to 1"),
        ({"average_decay": -0.1}, "training.average_decay=-0.1: must be from 0 to 1"),
        ({"warm_up": 2.0}, "training.warm_up=2.0: must be from 0 to 1"),
        ({"beta1": 1.0}, "training.beta1=1.0: must be from 0 to below 1"),
        ({"beta2": -0.5}, "training.beta2=-0.5: must be from 0 to below 1"),
        ({"schedule": "linear", "hold": 1.5}, "training.hold=1.5: is a fraction of the training"),
        ({"decay": 1.0}, "training.decay=1.0: divides the rate, so it must be above 1"),
        ({"nesterov": True}, "nesterov=true: needs momentum above 0 and dampening=0"),
        ({"nesterov": True, "momentum": 0.9, "dampening": 0.1}, "needs momentum above 0 and damp"),
        ({"batch_size": 2.5}, "batch_size=2.5: expected a whole number"),
        ({"learning_rate": "fast"}, "learning_rate='fast': expected a number"),
    ],
    ids=str,
)
def test_wrong_settings_are_refused_in_one_line(settings: dict, message: str) -> None:
    assert_refused(settings, message)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", ["momentum", "beta1", "beta2", "epsilon", "accumulator"])
def test_what_is_accepted_makes_an_optimizer(optimizer: str, name: str) -> None:
    for value in (0.0, 0.5, 0.9999, 1.0):
        try:
            config = TrainingConfig(optimizer=optimizer, **{name: value})
        except InputError:
            assert name.startswith("beta")
            assert value == 1
            continue
        OPTIMIZERS[optimizer]([torch.nn.Parameter(torch.ones(1))], config)


def test_a_nesterov_momentum_is_accepted() -> None:
    assert TrainingConfig(nesterov=True, momentum=0.9).nesterov


@pytest.mark.parametrize("epochs", [0.01, 2, 13])
def test_a_recipe_may_be_cut_short_before_its_rate_falls(epochs: float) -> None:
    """A fraction of an epoch of zaremba-large is a training too."""
    config = load_recipe("zaremba-large", [f"training.epochs={epochs}"])
    assert config.training.epochs == epochs
    assert config.training.hold == 14
