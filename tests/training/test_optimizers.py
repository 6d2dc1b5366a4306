"""Optimizers against hand-written algorithms; their state is restored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from one_weight import TOKENS, Counted, Loss, OneWeight
from refusals import assert_refused
from torch import nn

from elman.training.optimizers import (
    OPTIMIZERS,
    optimizer_tensors,
    restore_optimizer,
    takes_sparse,
)
from elman.training.settings import TrainingConfig
from elman.training.trainer import Trainer

RATE = 0.1
WEIGHT = np.array([1.0, -2.0, 0.5])
GRADIENTS = np.array([[0.3, -0.1, 2.0], [-0.4, 0.2, 1.0], [0.1, 0.5, -3.0], [0.2, -0.2, 0.0]])


def make(name: str, parameters, **settings) -> torch.optim.Optimizer:
    config = TrainingConfig(optimizer=name, learning_rate=RATE, **settings)
    return OPTIMIZERS[name](parameters, config)


def steps(name: str, **settings) -> list[np.ndarray]:
    """The weights after each step."""
    weight = torch.nn.Parameter(torch.from_numpy(WEIGHT.copy()))
    optimizer = make(name, [weight], **settings)
    found = []
    for gradient in GRADIENTS:
        weight.grad = torch.from_numpy(gradient.copy())
        optimizer.step()
        found.append(weight.detach().numpy().copy())
    return found


def agree(found: list[np.ndarray], expected: list[np.ndarray]) -> bool:
    return np.allclose(np.stack(found), np.stack(expected), rtol=0, atol=1e-13)


def sgd_of_the_deck(
    weight_decay: float, momentum: float, dampening: float, nesterov: bool
) -> list[np.ndarray]:
    """Deck 004, line by line: λ, μ, τ."""
    weight, velocity, found = WEIGHT.copy(), None, []
    for gradient in GRADIENTS:
        g = gradient
        if weight_decay != 0:
            g = g + weight_decay * weight
        if momentum != 0:
            velocity = g if velocity is None else momentum * velocity + (1 - dampening) * g
            g = g + momentum * velocity if nesterov else velocity
        weight = weight - RATE * g
        found.append(weight)
    return found


@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
@pytest.mark.parametrize(
    ("momentum", "dampening", "nesterov"),
    [(0.0, 0.0, False), (0.9, 0.0, False), (0.9, 0.4, False), (0.9, 0.0, True)],
)
def test_sgd_is_the_algorithm_of_the_deck(
    weight_decay: float, momentum: float, dampening: float, nesterov: bool
) -> None:
    settings = {"momentum": momentum, "dampening": dampening, "nesterov": nesterov}
    found = steps("sgd", weight_decay=weight_decay, **settings)
    assert agree(found, sgd_of_the_deck(weight_decay, **settings))


@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
@pytest.mark.parametrize("accumulator", [0.0, 0.5])
def test_adagrad_by_hand(accumulator: float, weight_decay: float) -> None:
    weight, squares, expected = WEIGHT, np.full(3, accumulator), []
    for gradient in GRADIENTS:
        gradient = gradient + weight_decay * weight
        squares = squares + gradient**2
        weight = weight - RATE * gradient / (np.sqrt(squares) + 1e-3)
        expected.append(weight)
    settings = {"accumulator": accumulator, "weight_decay": weight_decay}
    assert agree(steps("adagrad", epsilon=1e-3, **settings), expected)


@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
@pytest.mark.parametrize("momentum", [0.0, 0.6])
def test_rmsprop_by_hand(momentum: float, weight_decay: float) -> None:
    weight, squares, velocity, expected = WEIGHT, np.zeros(3), np.zeros(3), []
    for gradient in GRADIENTS:
        gradient = gradient + weight_decay * weight
        squares = 0.8 * squares + 0.2 * gradient**2
        velocity = momentum * velocity + gradient / (np.sqrt(squares) + 1e-3)
        weight = weight - RATE * velocity
        expected.append(weight)
    settings = {"momentum": momentum, "weight_decay": weight_decay}
    assert agree(steps("rmsprop", beta2=0.8, epsilon=1e-3, **settings), expected)


def adam_by_hand(weight_decay: float, beside: bool) -> list[np.ndarray]:
    weight, mean, squares, expected = WEIGHT, np.zeros(3), np.zeros(3), []
    for step, gradient in enumerate(GRADIENTS, 1):
        if beside:
            weight = weight - RATE * weight_decay * weight
        else:
            gradient = gradient + weight_decay * weight
        mean = 0.7 * mean + 0.3 * gradient
        squares = 0.8 * squares + 0.2 * gradient**2
        unbiased = mean / (1 - 0.7**step), squares / (1 - 0.8**step)
        weight = weight - RATE * unbiased[0] / (np.sqrt(unbiased[1]) + 1e-3)
        expected.append(weight)
    return expected


@pytest.mark.parametrize("name", ["adam", "adamw"])
@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_adam_by_hand(name: str, weight_decay: float) -> None:
    found = steps(name, beta1=0.7, beta2=0.8, epsilon=1e-3, weight_decay=weight_decay)
    assert agree(found, adam_by_hand(weight_decay, beside=name == "adamw"))


def test_adam_and_adamw_decay_in_different_places() -> None:
    assert not agree(adam_by_hand(0.3, beside=True), adam_by_hand(0.3, beside=False))


# --- Restarts


class _Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.inner = torch.nn.Linear(3, 2)
        self.unused = torch.nn.Parameter(torch.ones(2))  # never gets a gradient

    def learn(self, optimizer: torch.optim.Optimizer, steps: range) -> None:
        for step in steps:
            optimizer.zero_grad()
            inputs = torch.randn(4, 3, generator=torch.Generator().manual_seed(step))
            self.inner(inputs).square().sum().backward()
            optimizer.step()

    def names(self) -> dict[torch.nn.Parameter, str]:
        return {parameter: name for name, parameter in self.named_parameters()}


REMEMBERED = {
    "sgd": {"momentum_buffer"},
    "adam": {"step", "exp_avg", "exp_avg_sq"},
    "adamw": {"step", "exp_avg", "exp_avg_sq"},
    "rmsprop": {"step", "square_avg", "momentum_buffer"},
    "adagrad": {"step", "sum"},
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_what_an_optimizer_remembers_comes_back(name: str) -> None:
    whole, stopped = _Net(), _Net()
    first, second = (make(name, net.parameters(), momentum=0.5) for net in (whole, stopped))
    whole.learn(first, range(7))
    stopped.learn(second, range(4))
    kept = optimizer_tensors(second, stopped.names())
    kept = {key: value.detach().clone() for key, value in kept.items()}
    assert {key for key in kept if key.startswith("inner.")} == {
        f"inner.{part}/{what}" for part in ("weight", "bias") for what in REMEMBERED[name]
    }
    again = _Net()
    again.load_state_dict(stopped.state_dict())
    third = make(name, again.parameters(), momentum=0.5)
    again.learn(third, range(2))  # something else to be forgotten
    again.load_state_dict(stopped.state_dict())
    restore_optimizer(third, again.names(), kept)
    again.learn(third, range(4, 7))
    for one, other in zip(whole.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, other)
    memory = optimizer_tensors(third, again.names())
    for key, value in optimizer_tensors(first, whole.names()).items():
        assert torch.equal(value, memory[key])


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_going_back_to_the_start_forgets_everything(name: str) -> None:
    """As after a divergence before the first checkpoint that remembers anything."""
    whole, back = _Net(), _Net()
    first, second = (make(name, net.parameters(), momentum=0.5) for net in (whole, back))
    start = optimizer_tensors(second, back.names())
    start = {key: value.clone() for key, value in start.items()}
    back.learn(second, range(3))
    back.load_state_dict(whole.state_dict())
    restore_optimizer(second, back.names(), start)
    for net, optimizer in ((whole, first), (back, second)):
        net.learn(optimizer, range(4))
    for one, other in zip(whole.parameters(), back.parameters(), strict=True):
        assert torch.equal(one, other)


def test_what_is_restored_is_a_copy() -> None:
    net = _Net()
    optimizer = make("adam", net.parameters())
    net.learn(optimizer, range(2))
    kept = optimizer_tensors(optimizer, net.names())
    before = {key: value.clone() for key, value in kept.items()}
    other = _Net()
    second = make("adam", other.parameters())
    restore_optimizer(second, other.names(), kept)
    other.learn(second, range(3))
    assert all(torch.equal(kept[key], before[key]) for key in kept)


def test_plain_sgd_remembers_nothing() -> None:
    net = _Net()
    optimizer = make("sgd", net.parameters())
    net.learn(optimizer, range(3))
    assert optimizer_tensors(optimizer, net.names()) == {}


class Tower(nn.Module):
    """Three weights on one another and one that never learns; each gradient is one."""

    def __init__(self) -> None:
        super().__init__()
        self.bottom, self.middle, self.top = (nn.Parameter(torch.zeros(1)) for _ in range(3))
        self.still = nn.Parameter(torch.zeros(1), requires_grad=False)

    def groups(self) -> list[list[nn.Parameter]]:
        return [[self.top], [], [self.middle], [self.bottom, self.still]]

    def loss(self, batch: Any, carried: Any) -> tuple[Loss, Any]:
        return Loss(sum(self.parameters()).sum() * TOKENS), torch.zeros(2, 1)

    def heights(self) -> list[float]:
        return [round(-w.item(), 6) for w in (self.top, self.middle, self.bottom, self.still)]


def trained(steps: int, **settings: Any) -> Tower:
    tower = Tower()
    defaults: dict[str, Any] = {"epochs": 9, "learning_rate": 1.0, "clip": 0.0}
    trainer = Trainer(tower, Counted(4), TrainingConfig(**(defaults | settings)))
    for _ in range(steps):
        trainer.step()
    return tower


def test_all_learn_alike_unless_asked_otherwise() -> None:
    assert trained(3).heights() == [3, 3, 3, 0]


def test_the_rate_is_divided_for_each_group_below() -> None:
    assert trained(2, rate_decay=2.0).heights() == [2, 1, 0.5, 0]
    assert trained(1, rate_decay=2.6).heights() == [1, round(1 / 2.6, 6), round(1 / 6.76, 6), 0]


def test_groups_begin_one_after_the_other() -> None:
    assert trained(4, unfreeze=1.0).heights() == [4, 0, 0, 0]
    assert trained(6, unfreeze=1.0).heights() == [6, 2, 0, 0]
    assert trained(10, unfreeze=1.0).heights() == [10, 6, 2, 0]
    assert trained(4, unfreeze=0.5).heights() == [4, 2, 0, 0]


def test_weight_decay_does_not_move_what_waits() -> None:
    tower = Tower()
    with torch.no_grad():
        tower.middle.fill_(5)
    config = TrainingConfig(epochs=9, learning_rate=0.1, clip=0.0, unfreeze=1.0, weight_decay=0.1)
    trainer = Trainer(tower, Counted(4), config)
    for _ in range(4):
        trainer.step()
    assert tower.middle.item() == 5
    trainer.step()
    assert tower.middle.item() < 5


def test_schedules_hold_for_every_group() -> None:
    tower = trained(5, rate_decay=2.0, schedule="decay", decay=10.0)
    assert tower.heights() == [4.1, 2.05, 1.025, 0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"rate_decay": 0.5},
            "training.rate_decay=0.5: divides the rate, so it must be at least 1",
        ),
        ({"unfreeze": -1.0}, "training.unfreeze=-1.0: must not be negative"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, Any], message: str) -> None:
    assert_refused(settings, message)


def test_weight_decay_changes_linearly() -> None:
    """From 0.4 to 0 in ten steps: the decay of step n is 0.4 · (1 - n/10)."""
    model = OneWeight()
    settings = {"epochs": 2.0, "learning_rate": 0.1, "clip": 0.0}
    config = TrainingConfig(**settings, weight_decay=0.4, weight_decay_end=0.0)
    trainer = Trainer(model, Counted(5), config)
    weight = 0.0
    for number in range(10):
        trainer.step()
        decay = 0.4 * (1 - number / 10)
        weight -= 0.1 * (1 + decay * weight)  # the gradient is 1
        assert model.weight.item() == pytest.approx(weight, rel=1e-5), number


def test_sparse_gradients_need_weights_that_never_decay() -> None:
    assert takes_sparse(TrainingConfig())
    assert not takes_sparse(TrainingConfig(weight_decay_end=0.1))
