"""The continuous cache against its formula."""

import math

import numpy as np
import pytest
import torch

from elman.adapters import FitContext, adapt, continuous_cache
from elman.adapters.continuous_cache import ContinuousCache
from elman.adapters.mixture import mix
from elman.counts.estimate import NgramConfig
from elman.counts.merging import fit_weights
from elman.evaluation.measures import Reading
from elman.evaluation.scoring import score_ids
from elman.models.contract import LanguageModel
from elman.models.ngram import NGram
from elman.models.recurrent import RecurrentConfig, RecurrentModel

SIZE, EOS = 12, 0
RANDOM = np.random.default_rng(4)
TEXT = np.repeat(RANDOM.integers(0, SIZE, 40), 3)  # words come in runs, so that a cache is of use


@pytest.fixture
def network() -> RecurrentModel:
    torch.manual_seed(2)
    config = RecurrentConfig(hidden_size=8, embedding_size=8, init="normal", init_scale=0.5)
    model = RecurrentModel.build(config, TEXT, [str(n) for n in range(SIZE)], EOS)
    return model.double().eval().requires_grad_(False)


def by_hand(
    model: LanguageModel, ids: np.ndarray, window: int, theta: float, weight: float
) -> list[float]:
    """p(w) = (1 - λ) p_model(w) + λ p_cache(w), one word after the other."""
    state = model.start(1)
    moments: list[tuple[torch.Tensor, int]] = []
    log_probs = []
    for word in ids.tolist():
        p = math.exp(float(model.predict(state)[0, word]))
        vector = model.vector(state)[0]
        if moments:
            counts = [(math.exp(theta * float(vector @ old)), seen) for old, seen in moments]
            same = [count for count, seen in counts[-window:] if seen == word]
            p = (1 - weight) * p + weight * sum(same) / sum(count for count, _ in counts[-window:])
        log_probs.append(math.log(p))
        moments.append((vector, word))
        state = model.read(torch.tensor([[word]]), state)
    return log_probs


@pytest.mark.parametrize(("window", "theta", "weight"), [(7, 0.4, 0.3), (500, 1.1, 0.5), (1, 0, 1)])
def test_every_probability_is_that_of_the_formula(
    network: RecurrentModel,
    window: int,
    theta: float,
    weight: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(continuous_cache, "_AT_ONCE", 50)
    cache = ContinuousCache(network, window, theta, weight)
    if weight == 1:  # then a word that is not remembered is impossible
        found = cache.score(torch.tensor([[3, 3, 4]]), cache.start(1))[0][0].exp().tolist()
        assert found[1:] == pytest.approx([1, 0])
        return
    found = cache.score(torch.from_numpy(TEXT[None]), cache.start(1))[0][0]
    assert found.tolist() == pytest.approx(by_hand(network, TEXT, window, theta, weight), abs=1e-10)


def test_what_is_not_given_is_fitted(network: RecurrentModel) -> None:
    def score(model: LanguageModel) -> np.ndarray:
        return score_ids(model, TEXT, eos_id=EOS)

    around = FitContext(score, lambda path: network)
    fitted = adapt(network, ["continuous-cache:window=30"], around)
    assert isinstance(fitted, ContinuousCache)
    best = score(fitted).sum()
    assert best > score(network).sum() + 10
    assert around.score_validation(fitted) == pytest.approx(score(fitted), abs=1e-9)
    for theta in (0, 0.02, 0.1, 0.5, 1, 2):
        for weight in (0.01, 0.1, 0.3, 0.6, 0.9):
            other = ContinuousCache(network, 30, theta, weight)
            assert best >= score(other).sum() - 0.05
    given = adapt(network, ["continuous-cache:window=30,theta=0.3"], around)
    assert given.theta == 0.3
    again = adapt(network, ["continuous-cache:window=30,weight=0.2"], around)
    assert again.weight == 0.2


def test_lines_by_themselves_are_fitted_by_themselves(network: RecurrentModel) -> None:
    def score(model: LanguageModel) -> np.ndarray:
        return score_ids(model, TEXT, eos_id=EOS, reading=Reading("line"))

    around = FitContext(score, lambda path: network)
    fitted = adapt(network, ["continuous-cache"], around)
    assert around.score_validation(fitted) == pytest.approx(score(fitted), abs=1e-9)


def test_all_weights_are_fitted_together(network: RecurrentModel) -> None:
    """Network, cache and n-grams: no weights of the three are better on the validation text."""
    other = NGram.fit(TEXT[:60], NgramConfig(order=2), vocabulary_size=SIZE, eos_id=EOS)

    def score(model: LanguageModel) -> np.ndarray:
        return score_ids(model, TEXT, eos_id=EOS, reading=Reading())

    around = FitContext(score=score, load_model=lambda path: other, eos_id=EOS)
    fitted = adapt(network, ["continuous-cache:theta=0.4", "mix:run=other"], around)
    cache = fitted.models[0]
    assert isinstance(cache, ContinuousCache)
    alone = adapt(network, ["continuous-cache:theta=0.4"], around)
    assert cache.weight != pytest.approx(alone.weight, rel=0.01)
    best = np.concatenate([alone.fitted_scores(), around.score_validation(other)[None]])
    weights = fit_weights(best)
    found = [(1 - cache.weight) * fitted.weights[0], cache.weight * fitted.weights[0]]
    assert [*found, fitted.weights[1]] == pytest.approx(weights.tolist(), abs=1e-6)
    assert score(fitted).sum() > score(mix(alone, other, 1 - fitted.weights[0], around)).sum()
    np.testing.assert_allclose(around.score_validation(cache), score(cache), rtol=1e-9)
    given = adapt(network, ["continuous-cache:theta=0.4,weight=0.3", "mix:run=other"], around)
    assert given.models[0].weight == 0.3  # a weight that is given is kept
