"""The temperature adapter."""

import numpy as np
import pytest
import torch

from elman.adapters import FitContext, adapt
from elman.adapters.temperature import Temperature
from elman.counts.estimate import NgramConfig
from elman.evaluation.scoring import score_ids
from elman.models.contract import LanguageModel
from elman.models.ngram import NGram

SIZE, EOS = 8, 0
RANDOM = np.random.default_rng(4)
TEXT = RANDOM.choice(SIZE, 300, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.03, 0.02])


def ngram() -> NGram:
    config = NgramConfig(order=2, smoothing="witten-bell")
    return NGram.fit(TEXT, config, vocabulary_size=SIZE, eos_id=EOS)


def test_probabilities_to_the_power_of_one_over_tau() -> None:
    model, state = ngram(), ngram().start(1)
    powers = model.predict(state).exp() ** (1 / 0.6)
    flatter = Temperature(model, 0.6)
    torch.testing.assert_close(flatter.predict(state).exp(), powers / powers.sum())


def score(model: LanguageModel) -> np.ndarray:
    return score_ids(model, TEXT, eos_id=EOS)


@pytest.mark.parametrize("wrong", [0.8, 1.25])
def test_the_right_temperature_is_found(wrong: float) -> None:
    """A model made too steep or too flat is mended by the opposite temperature."""
    around = FitContext(score, lambda path: ngram())
    straight = adapt(ngram(), ["temperature"], around).value
    mended = adapt(Temperature(ngram(), wrong), ["temperature"], around)
    assert mended.value * wrong == pytest.approx(straight, rel=0.02)
    best = score(mended).sum()
    assert all(
        best >= score(Temperature(Temperature(ngram(), wrong), value)).sum() - 0.01
        for value in np.linspace(0.6, 1.5, 30)
    )
