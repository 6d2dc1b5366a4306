"""The Monte Carlo dropout adapter."""

from typing import Any

import numpy as np
import pytest
import torch

from elman.adapters.monte_carlo import MonteCarlo
from elman.models.recurrent import RecurrentConfig, RecurrentModel

SIZE, EOS = 10, 0
TEXT = np.random.default_rng(4).integers(0, SIZE, 60)
IDS = torch.from_numpy(TEXT[None])


def network(**settings: Any) -> RecurrentModel:
    torch.manual_seed(2)
    config = RecurrentConfig(hidden_size=7, embedding_size=6, **settings)
    model = RecurrentModel.build(config, TEXT, [str(n) for n in range(SIZE)], EOS)
    return model.double().eval().requires_grad_(False)


def scores(model: Any) -> torch.Tensor:
    return model.score(IDS, model.start(1))[0]


def test_without_dropout_all_networks_are_the_model() -> None:
    model = network()
    torch.testing.assert_close(scores(MonteCarlo(model, 3, 0)), scores(model))


def test_probabilities_are_the_average_over_networks() -> None:
    model = network(dropout_input=0.4, dropout_output=0.4)
    each = [scores(MonteCarlo(model, 1, 0)), scores(MonteCarlo(model, 2, 0))]
    second = 2 * each[1].exp() - each[0].exp()  # the second network's own
    assert ((second > 0) & (second < 1)).all()
    assert not torch.allclose(each[0].exp(), second)


def test_networks_depend_on_the_seed_alone() -> None:
    model = network(dropout_input=0.4, weight_drop=0.3, recurrent_dropout=0.2)
    first = scores(MonteCarlo(model, 2, 0))
    torch.manual_seed(99)
    state = torch.random.get_rng_state()
    assert torch.equal(scores(MonteCarlo(model, 2, 0)), first)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert not torch.equal(scores(MonteCarlo(model, 2, 1)), first)


@pytest.mark.parametrize(
    "settings",
    [
        {"dropout_words": 0.5},
        {"dropout_input": 0.5, "locked": False},
        {"dropout_hidden": 0.5, "num_layers": 2},
        {"dropout_output": 0.5},
        {"weight_drop": 0.5},
        {"recurrent_dropout": 0.5},
    ],
)
def test_every_dropout_thins(settings: dict[str, Any]) -> None:
    model = network(**settings)
    assert not torch.allclose(scores(MonteCarlo(model, 2, 0)), scores(model), atol=1e-6)


def test_zoneout_keeps_to_its_expectation() -> None:
    model = network(zoneout=0.3)
    torch.testing.assert_close(scores(MonteCarlo(model, 2, 0)), scores(model))
