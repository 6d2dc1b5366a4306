"""A small model and a batch of either kind."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from elman.batches import Batch
from elman.layers.inputs import Material
from elman.models.recurrent import RecurrentConfig, RecurrentModel

WORDS = 9
EOS = 1


def make_model(context: str = "stream", **settings: Any) -> RecurrentModel:
    torch.manual_seed(4)
    config = RecurrentConfig(
        context=context, embedding_size=6, hidden_size=6, init="normal", init_scale=0.7, **settings
    )
    return RecurrentModel(config, Material(torch.ones(WORDS, dtype=torch.int64), EOS))


def make_batch(context: str = "stream") -> Batch:
    torch.manual_seed(5)
    if context == "stream":
        ids = torch.randint(0, WORDS, (4, 9))
        return Batch(ids[:, :-1], ids[:, 1:])
    targets = torch.randint(2, WORDS, (4, 8))
    lengths = torch.tensor([8, 7, 5, 2])
    targets[torch.arange(8) >= lengths[:, None] - 1] = EOS
    inputs = torch.cat([torch.full((4, 1), EOS), targets[:, :-1]], 1)
    return Batch(inputs, targets, lengths)


@pytest.fixture(params=["stream", "line"])
def context(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def model(context: str) -> RecurrentModel:
    return make_model(context, dropout_output=0.3)


@pytest.fixture
def batch(context: str) -> Batch:
    return make_batch(context)


def step(regime: Any, model: Any, batch: Batch, progress: float = 1.0, carried: Any = None) -> Any:
    """Loss and gradients of one step from the same random numbers, and the state after it."""
    torch.manual_seed(11)
    model.train()
    model.zero_grad(set_to_none=True)
    loss, after = regime.loss(model, batch, carried, progress)
    (loss.nats / loss.tokens + loss.penalty).backward()
    return loss, [p.grad.clone() for p in model.parameters()], after


@pytest.fixture(name="step")
def step_fixture() -> Any:
    return step


@pytest.fixture(name="make_model")
def make_model_fixture() -> Any:
    return make_model


@pytest.fixture(name="make_batch")
def make_batch_fixture() -> Any:
    return make_batch
