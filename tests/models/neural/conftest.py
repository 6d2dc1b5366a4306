"""Shared by tests of neural models: small models of every family, and a text."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from elman.models import MODELS
from elman.models.neural import NeuralModel

SIZE, EOS = 11, 0
TEXT = np.random.default_rng(0).integers(0, SIZE, 120)
WORDS = [f"word{number}" for number in range(SIZE)]

FAMILIES = {
    "feed-forward": ("feed-forward", {"order": 4, "hidden_size": 7}),
    "feed-forward-direct": ("feed-forward", {"order": 3, "hidden_size": 7, "direct": True}),
    "feed-forward-tied": ("feed-forward", {"order": 3, "hidden_size": 7, "tied": True}),
    "log-bilinear": ("log-bilinear", {"order": 4}),
    "log-bilinear-diagonal": ("log-bilinear", {"order": 4, "diagonal": True}),
    "syntactical": ("syntactical", {"context": "stream"}),  # as all others here
    "elman": ("recurrent", {"cell": "elman", "hidden_size": 5}),
    "elman-untied": ("recurrent", {"cell": "elman", "hidden_size": 8, "tied": False}),
    "gru-dense": ("recurrent", {"cell": "gru", "num_layers": 2, "connection": "dense"}),
    "lstm": ("recurrent", {"cell": "lstm", "num_layers": 2, "hidden_size": (8, 5)}),
    "min-gru": ("recurrent", {"cell": "min-gru", "hidden_size": 5}),
    "highway": ("recurrent", {"cell": "highway", "hidden_size": 5, "options": {"depth": 2}}),
    "sampled": (
        "recurrent",
        {"cell": "lstm", "output": "sampled", "output_options": {"samples": 4}},
    ),
    "sampled-untied": (
        "recurrent",
        {"cell": "lstm", "output": "sampled", "output_options": {"samples": 4}, "tied": False},
    ),
}
LISTED = {kind for kind, _ in FAMILIES.values()}
FAMILIES |= {  # one that is not listed joins with its usual settings
    kind: (kind, {})
    for kind in MODELS
    if kind not in LISTED and MODELS[kind].task == "language-modelling"
}


def make_model(kind: str, **settings) -> NeuralModel:
    """In double precision, with weights so large that every word makes a difference."""
    torch.manual_seed(1)
    cls = MODELS.choose(kind)
    sizes = {"hidden_size": 6} if kind == "recurrent" else {}
    usual = {"embedding_size": 5, "init": "normal", "init_scale": 0.6, **sizes}
    return cls.build(cls.config_class(**(usual | settings)), TEXT, WORDS, EOS).double().eval()


@pytest.fixture
def make() -> Callable[..., NeuralModel]:
    """A model of a kind, with settings."""
    return make_model


@pytest.fixture(params=FAMILIES)
def model(request: pytest.FixtureRequest) -> NeuralModel:
    """One of each family, and of what makes a difference within it."""
    kind, settings = FAMILIES[request.param]
    return make_model(kind, **settings)


@pytest.fixture
def text() -> np.ndarray:
    """The ids that the models were built from."""
    return TEXT


@pytest.fixture
def families() -> set[str]:
    """The kinds that `model` goes through."""
    return {kind for kind, _ in FAMILIES.values()}
