"""NaN or infinite losses and gradients: not applied; training restarts with a lower rate."""

from __future__ import annotations

import json
import math

import pytest
import torch
from one_weight import OneWeight, Scene

from elman.errors import ElmanError


def infinite_gradient(nats: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """A loss of zero whose gradient is infinite."""
    return nats * 0 + torch.sqrt(weight - weight.detach()).sum()


@pytest.mark.parametrize("kind", ["NaN", "infinite", "gradient"])
def test_a_step_that_diverges_once_is_not_applied(kind: str) -> None:
    model = OneWeight([1.0, 2.0])
    replace = {
        "NaN": lambda nats: nats * math.nan,
        "infinite": lambda nats: nats + math.inf,
        "gradient": lambda nats: infinite_gradient(nats, model.weight),
    }[kind]
    model.trouble = lambda number, nats: replace(nats) if number == 4 else nats
    scene = Scene(model, validate_every=0.5).run()
    assert scene.steps == [1, 2, 3, *range(1, 11)]  # back to the start
    assert scene.trainer.counters.rate_factor == 0.5
    assert scene.trainer.model.weight == -5  # ten steps of one half
    assert torch.isfinite(scene.saved[-1].weights["weight"])
    told = [record for record in scene.records if "diverged_at_step" in record]
    assert len(told) == 1
    assert told[0]["diverged_at_step"] == 4
    assert told[0]["rate_factor"] == 0.5
    assert "loss" in told[0]["problem"]
    assert told[0]["step"] == 0
    assert all(snapshot.data["rate_factor"] == 0.5 for snapshot in scene.saved)  # it is kept


def test_it_goes_back_to_the_last_checkpoint() -> None:
    model = OneWeight([1.0, 0.5])
    model.trouble = lambda number, nats: nats * math.nan if number == 8 else nats
    scene = Scene(model, validate_every=0.5).run()
    assert scene.steps == [1, 2, 3, 4, 5, 6, 7, *range(6, 11)]
    assert model.weight == -7.5  # five steps of one, five of one half
    assert scene.saved_at() == [5, 5, 10]  # the second holds the lower rate
    assert [snapshot.data["rate_factor"] for snapshot in scene.saved] == [1, 0.5, 0.5]


def test_rates_fall_with_every_divergence() -> None:
    model = OneWeight([1.0, 0.5])
    model.trouble = lambda number, nats: nats * math.nan if number in (3, 10, 12) else nats
    scene = Scene(model, validate_every=0.5).run()
    told = [record for record in scene.records if "rate_factor" in record]
    # First in step 3, then twice in step 7, after the checkpoint of step 5.
    assert [record["step"] for record in told] == [0, 5, 5]
    assert [record["rate_factor"] for record in told] == [0.5, 0.25, 0.125]
    assert scene.trainer.counters.rate_factor == 0.125


def test_it_gives_up_after_three_returns() -> None:
    model = OneWeight([1.0])
    scene = Scene(model, validate_every=0.5)

    def trouble(number: int, nats: torch.Tensor) -> torch.Tensor:
        return nats * math.nan if scene.trainer.counters.step == 7 else nats

    model.trouble = trouble
    with pytest.raises(ElmanError, match=r"diverged \(loss nan.*in step 8, and again after 3") as e:
        scene.run()
    assert e.value.exit_code == 1
    assert scene.steps == [1, 2, 3, 4, 5, 6, 7, 6, 7, 6, 7, 6, 7]
    told = [record["rate_factor"] for record in scene.records if "rate_factor" in record]
    assert told == [0.5, 0.25, 0.125]
    last = scene.saved[-1]
    assert last.data["step"] == 5
    assert last.weights["weight"] == -5


def test_a_checkpoint_after_which_nothing_works_is_not_returned_to() -> None:
    """Weights that are finite can still be ruined: the loss of the next step shows it."""
    model = OneWeight([1.0])
    scene = Scene(model)
    scene.loop._saving_due = lambda: True  # type: ignore[method-assign]

    def trouble(number: int, nats: torch.Tensor) -> torch.Tensor:
        return nats * math.nan if model.weight < -4.9 else nats  # after five whole steps

    model.trouble = trouble
    scene.run()
    assert scene.steps[:7] == [1, 2, 3, 4, 5, 5, 6]  # saved after 5, but went back to after 4
    assert scene.trainer.finished
    assert model.weight.item() == pytest.approx(
        -4.9, abs=0.1
    )  # nearer and nearer, in smaller steps
    told = [record["rate_factor"] for record in scene.records if "rate_factor" in record]
    assert told == [0.5**n for n in range(1, len(told) + 1)]


def test_a_validation_that_is_no_number_is_a_divergence() -> None:
    scene = Scene(OneWeight([1.0, math.nan, 0.9, 0.8]), epochs=3).run()
    told = [record for record in scene.records if "problem" in record]
    assert [record["problem"] for record in told] == ["validation nan"]
    assert scene.trainer.counters.best_nats == pytest.approx(0.8)
    assert scene.trainer.counters.rate_factor == 0.5
    json.dumps(scene.records, allow_nan=False)
    for snapshot in scene.saved:
        assert torch.isfinite(snapshot.weights["weight"])
