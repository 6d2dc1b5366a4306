"""Professor forcing: the discriminator, and when it and the model learn."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from elman.training.regimes import make_regime
from elman.training.regimes.professor_forcing import (
    Discriminator,
    accuracy,
    fooling_loss,
    separation_loss,
)


def test_it_learns_to_tell_rising_from_falling_sequences(make_model: Any) -> None:
    regime = make_regime("professor-forcing", {"learning_rate": 0.01}, make_model())
    torch.manual_seed(0)
    slope = torch.linspace(-1, 1, 12)[None, :, None]
    for _ in range(60):
        noise = 0.3 * torch.randn(2, 20, 12, 6)
        right = regime.learn(noise[0] + slope, noise[1] - slope, None)
    assert right > 0.95


def test_padding_does_not_count() -> None:
    torch.manual_seed(0)
    discriminator = Discriminator(3, 4)
    hidden, lengths = torch.randn(2, 7, 3), torch.tensor([7, 4])
    padded = hidden.clone()
    padded[1, 4:] = 100.0
    logits = discriminator(hidden, lengths)
    torch.testing.assert_close(discriminator(padded, lengths), logits)
    torch.testing.assert_close(discriminator(hidden[1:, :4]), logits[1:])


def test_losses_by_hand() -> None:
    """Logits of log 3: D = 3/4."""
    three = torch.full((2,), math.log(3))
    assert float(fooling_loss(three)) == pytest.approx(-math.log(3 / 4))
    expected = -math.log(3 / 4) - math.log(1 / 4)
    assert float(separation_loss(three, three)) == pytest.approx(expected)
    assert accuracy(three, three) == 0.5
    assert accuracy(torch.tensor([1.0, -1.0]), torch.tensor([-1.0, -1.0])) == 0.75


def weights(regime: Any) -> list[torch.Tensor]:
    return [p.detach().clone() for p in regime.discriminator.parameters()]


@pytest.mark.parametrize(("learn_below", "learns"), [(0.0, False), (1.0, True)])
def test_it_learns_only_while_it_is_often_wrong(
    model: Any, batch: Any, step: Any, learn_below: float, learns: bool
) -> None:
    regime = make_regime("professor-forcing", {"learn_below": learn_below}, model)
    before = weights(regime)
    step(regime, model, batch)
    assert learns == any(
        not torch.equal(a, b) for a, b in zip(before, weights(regime), strict=True)
    )


def test_the_model_fools_it_only_while_it_is_often_right(
    make_model: Any, make_batch: Any, context: str, step: Any
) -> None:
    model, batch = make_model(context), make_batch(context)
    plain, usual, _ = step(make_regime("teacher-forcing", {}, model), model, batch)
    for fool_above, fools in ((1.0, False), (0.0, True)):
        torch.manual_seed(0)
        regime = make_regime("professor-forcing", {"fool_above": fool_above}, model)
        loss, gradients, _ = step(regime, model, batch)
        assert torch.equal(loss.nats, plain.nats)
        assert fools == bool(loss.penalty > 0)
        assert fools == any(not torch.equal(a, b) for a, b in zip(usual, gradients, strict=True))


def test_fooling_makes_own_look_true(make_model: Any, make_batch: Any) -> None:
    """With a discriminator that stays as it is, steps on the penalty alone raise its verdict."""
    model, batch = make_model(), make_batch()
    regime = make_regime("professor-forcing", {"learn_below": 0.0, "fool_above": 0.0}, model)
    with torch.no_grad():
        for parameter in regime.discriminator.parameters():
            parameter.mul_(3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    penalties = []
    for _ in range(15):
        torch.manual_seed(1)
        loss, _ = regime.loss(model, batch, None, 0.5)
        penalties.append(float(loss.penalty.detach()))
        optimizer.zero_grad()
        loss.penalty.backward()
        optimizer.step()
    assert penalties[-1] < 0.7 * penalties[0]


def test_making_it_leaves_the_random_numbers_of_other_regimes_alone(make_model: Any) -> None:
    model = make_model()
    state = torch.get_rng_state()
    for regime in ("teacher-forcing", "free-running", "scheduled-sampling", "minimum-risk"):
        make_regime(regime, {}, model)
    assert torch.equal(torch.get_rng_state(), state)


def test_what_it_gives_it_takes_back(make_model: Any, make_batch: Any, step: Any) -> None:
    model, batch = make_model(), make_batch()
    regime, other = (make_regime("professor-forcing", {}, model) for _ in range(2))
    step(regime, model, batch)
    saved = {name: tensor.clone() for name, tensor in regime.tensors().items()}
    assert any(name.startswith("optimizer/") for name in saved)
    other.restore(saved)
    for each in (regime, other):
        step(each, model, batch)
    for name, tensor in regime.tensors().items():
        assert torch.equal(tensor, other.tensors()[name]), name
    other.restore(saved)
    other.optimizer.state.clear()  # its memory is of consequence
    step(other, model, batch)
    assert any(not torch.equal(a, b) for a, b in zip(weights(regime), weights(other), strict=True))
