"""Shared by tests of insights: small models in double precision, and their texts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from elman.insight.insight import Subject
from elman.models import MODELS

SIZE, EOS = 11, 0
WORDS = ["<eos>", *[f"word{number}" for number in range(1, SIZE)]]


def make_subject(ids: list[int], kind: str = "recurrent", **settings: Any) -> Subject:
    """A fresh model with weights so large that every word makes a difference, and its text."""
    torch.manual_seed(3)
    cls = MODELS.choose(kind)
    sizes = {"hidden_size": 6} if kind == "recurrent" else {}
    usual = {"embedding_size": 5, "init": "normal", "init_scale": 0.6, "tied": False, **sizes}
    text = np.random.default_rng(0).integers(0, SIZE, 120)
    model = cls.build(cls.config_class(**(usual | settings)), text, WORDS, EOS).double().eval()
    tokens = [WORDS[number] for number in ids]
    return Subject(
        model=model,
        text=" ".join(tokens),
        ids=np.array(ids),
        tokens=tokens,
        pieces=[f" {token}" for token in tokens],
        vocabulary=WORDS,
    )


@pytest.fixture
def subject() -> Callable[..., Subject]:
    """A model of a kind, with settings, and ids that it reads."""
    return make_subject
