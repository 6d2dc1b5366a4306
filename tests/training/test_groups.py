"""Groups of weights: rates fall from the top down, and groups wait for their time."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from one_weight import TOKENS, Counted, Loss
from refusals import assert_refused
from torch import nn

from elman.training.settings import TrainingConfig
from elman.training.trainer import Trainer


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
        ({"rate_decay": 0.5}, "training.rate_decay=0.5: divides the rate, so must be at least 1"),
        ({"unfreeze": -1.0}, "training.unfreeze=-1.0: must not be negative"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, Any], message: str) -> None:
    assert_refused(settings, message)
