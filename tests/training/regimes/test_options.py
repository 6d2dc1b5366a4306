"""Every regime is listed and described, and its options are checked."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from refusals import assert_refused

from elman.recipes import load_recipe
from elman.training.regimes import REGIMES, check_options, make_regime


@pytest.mark.parametrize("regime", REGIMES)
def test_every_regime_gives_a_loss_and_is_random_only_by_torchs_generator(
    model: Any, batch: Any, step: Any, regime: str
) -> None:
    assert REGIMES[regime].about
    first = make_regime(regime, {}, model)
    saved = {name: tensor.clone() for name, tensor in first.tensors().items()}
    loss, gradients, _ = step(first, model, batch, progress=0.5)
    assert loss.tokens == batch.tokens
    assert all(gradient.isfinite().all() for gradient in gradients)
    first = make_regime(regime, {}, model)
    first.restore(saved)
    again, same_gradients, _ = step(first, model, batch, progress=0.5)
    assert torch.equal(loss.nats, again.nats)
    assert all(map(torch.equal, gradients, same_gradients))


def test_values_become_what_the_option_is() -> None:
    found = check_options("professor-forcing", {"weight": 1, "hidden_size": 8.0})
    assert found == {"weight": 1.0, "hidden_size": 8}
    assert [type(value) for value in found.values()] == [float, int]


def test_a_recipe_sets_them() -> None:
    words = ["training.regime=scheduled-sampling", "training.regime_options.final=0.3"]
    config = load_recipe("small", words).training
    assert (config.regime, config.regime_options) == ("scheduled-sampling", {"final": 0.3})
    assert load_recipe("small").training.regime == "teacher-forcing"


@pytest.mark.parametrize(
    ("regime", "options", "message"),
    [
        ("teacher-forcin", {}, "unknown regime 'teacher-forcin'; did you mean 'teacher-forcing'"),
        ("teacher-forcing", {"final": 1}, "unknown option 'final' of the regime .*it has none"),
        ("scheduled-sampling", {"finale": 1}, "unknown option 'finale'.*did you mean 'final'"),
        ("scheduled-sampling", {"final": 1.5}, "regime_options.final=1.5: must be from 0 to 1"),
        ("scheduled-sampling", {"final": "low"}, "regime_options.final='low': expected a number"),
        ("scheduled-sampling", {"schedule": "liner"}, "unknown .*schedule 'liner'.*'linear'"),
        ("scheduled-sampling", {"steepness": 0.5}, "steepness=0.5: must be at least 1"),
        ("scheduled-sampling", {"schedule": "exponential", "final": 0}, "final=0: the schedule"),
        ("professor-forcing", {"hidden_size": 0}, "hidden_size=0: must be at least 1"),
        ("professor-forcing", {"weight": float("nan")}, "weight=nan: must be at least 0"),
        ("professor-forcing", {"fool_above": 75.0}, "fool_above=75.0: must be from 0 to 1"),
        ("minimum-risk", {"samples": 1}, "samples=1: the mean of the other draws needs at least 2"),
        ("minimum-risk", {"samples": 0, "baseline": "greedy"}, "samples=0: must be at least 1"),
        ("minimum-risk", {"baseline": "best"}, "unknown .*baseline 'best'"),
        ("minimum-risk", {"seen": -1}, "seen=-1.0: must be from 0 to 1"),
    ],
)
def test_others_are_refused_in_one_line(regime: str, options: Any, message: str) -> None:
    assert_refused({"regime": regime, "regime_options": options}, message)
