"""Drift: the loss on own words, and zero where the history does not matter."""

import math

import numpy as np
import pytest
import torch

from elman.evaluation.exposure import measure_drift
from elman.models.contract import LanguageModel

SIZE = 4


class Follows(LanguageModel):
    """After word w comes w + 1 with probability 1 - noise; the others share the rest."""

    def __init__(self, noise: float, listens: bool = True) -> None:
        self.vocabulary_size, self.noise, self.listens = SIZE, noise, listens

    def start(self, batch_size, source=None):
        return torch.zeros(batch_size, dtype=torch.long)

    def read(self, ids, state):
        return ids[:, -1] if self.listens and ids.shape[1] else state

    def predict(self, state):
        likely = torch.full((len(state), SIZE), self.noise / (SIZE - 1), dtype=torch.double)
        return likely.scatter(1, ((state + 1) % SIZE)[:, None], 1 - self.noise).log()

    def score(self, ids, state):
        scores = []
        for step in range(ids.shape[1]):
            scores.append(self.predict(state).gather(1, ids[:, step, None]))
            state = self.read(ids[:, step, None], state)
        return torch.cat(scores, 1), state


def rows(count: int = 400, length: int = 12) -> np.ndarray:
    return (np.arange(length) + 1 + np.zeros((count, 1), dtype=np.int64)) % SIZE


@pytest.mark.parametrize("own", [0.0, 0.3, 1.0])
def test_drift_by_hand(own: float) -> None:
    """The text always goes on by one. Off the text, its next word has a share of the noise.

    A draw is off with probability noise if what was read before it was not, and else unless it
    happens to hit the text again.
    """
    noise = 0.3
    share = noise / (SIZE - 1)
    found = measure_drift(Follows(noise), rows(), own=own, seed=3)
    right, wrong = -math.log(1 - noise), -math.log(share)
    off, expected = 0.0, 0.0
    for _ in range(12):
        expected += off * (wrong - right) / 12
        off = own * ((1 - off) * noise + off * (1 - share))
    assert found.nats_true == pytest.approx(right)
    assert found.drift == pytest.approx(expected, abs=4 * found.drift_error)
    assert found.nats_mixed == pytest.approx(found.nats_true + found.drift)
    assert (found.drift > 10 * found.drift_error) == (own > 0)


def test_who_does_not_listen_does_not_drift() -> None:
    assert measure_drift(Follows(0.3, listens=False), rows(), own=1.0).drift == 0


def test_it_follows_from_the_seed() -> None:
    model = Follows(0.3)
    assert measure_drift(model, rows(), seed=1) == measure_drift(model, rows(), seed=1)
    assert measure_drift(model, rows(), seed=1) != measure_drift(model, rows(), seed=2)
