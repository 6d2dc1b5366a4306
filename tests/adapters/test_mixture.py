"""Interpolation, and weights that make a text most likely."""

import json

import numpy as np
import pytest
import torch

from elman.adapters.cache import Config as CacheConfig
from elman.adapters.cache import UnigramCache
from elman.adapters.mixture import Mixture
from elman.counts.estimate import NgramConfig
from elman.counts.merging import fit_weights
from elman.errors import InputError
from elman.models.ngram import NGram

SIZE = 6
RANDOM = np.random.default_rng(2)
TEXT = RANDOM.integers(0, SIZE, 300)
IDS = torch.from_numpy(RANDOM.integers(0, SIZE, (2, 9)))


def ngram(order: int, context: str = "line", size: int = SIZE) -> NGram:
    config = NgramConfig(order=order, smoothing="witten-bell", context=context)
    return NGram.fit(TEXT, config, vocabulary_size=size, eos_id=0)


def test_probabilities_are_weighted_sums() -> None:
    parts = [ngram(1), ngram(3), UnigramCache(SIZE, CacheConfig(window=4))]
    weights = [0.2, 0.5, 0.3]
    mixture = Mixture(parts, weights)
    state = mixture.read(IDS, mixture.start(2))
    states = [part.read(IDS, part.start(2)) for part in parts]
    pairs = zip(weights, parts, states, strict=True)
    expected = sum(weight * part.predict(s).exp() for weight, part, s in pairs)
    torch.testing.assert_close(mixture.predict(state).exp(), expected)
    scored, _ = mixture.score(IDS, mixture.start(2))
    pairs = zip(weights, parts, strict=True)
    expected = sum(weight * part.score(IDS, part.start(2))[0].exp() for weight, part in pairs)
    torch.testing.assert_close(scored.exp(), expected)
    everything, _ = mixture.predict_all(IDS, mixture.start(2))
    torch.testing.assert_close(everything.gather(2, IDS[:, :, None])[:, :, 0], scored)


@pytest.mark.parametrize("weights", [[1.0, 0.0], [0.0, 1.0]])
def test_a_weight_of_zero_leaves_one_model(weights: list[float]) -> None:
    parts = [ngram(3), UnigramCache(SIZE, CacheConfig(window=4))]  # the cache gives zeros
    alone = parts[weights.index(1.0)]
    found, _ = Mixture(parts, weights).score(IDS, Mixture(parts, weights).start(2))
    expected, _ = alone.score(IDS, alone.start(2))
    torch.testing.assert_close(found, expected)
    assert not torch.isnan(found).any()


def test_what_one_model_finds_impossible_the_other_may_save() -> None:
    never = ngram(1)
    never.tables.tables[0].log_probs[3] = -np.inf
    mixture = Mixture([never, ngram(2)], [0.5, 0.5])
    log_probs = mixture.predict(mixture.start(1))[0]
    torch.testing.assert_close(
        log_probs[3], ngram(2).predict(ngram(2).start(1))[0, 3] + np.log(0.5)
    )
    both = Mixture([never, never], [0.5, 0.5])
    assert both.predict(both.start(1))[0, 3] == -torch.inf


def test_it_forgets_when_all_of_its_models_do() -> None:
    line, stream, cache = ngram(3), ngram(4, "stream"), UnigramCache(SIZE, CacheConfig(window=9))
    assert Mixture([line, ngram(2)], [0.5, 0.5]).resets_at_lines
    assert not Mixture([line, stream], [0.5, 0.5]).resets_at_lines
    assert Mixture([line, stream], [0.5, 0.5]).horizon == 3
    assert Mixture([line, cache], [0.5, 0.5]).horizon == 9
    cache.horizon = None
    assert Mixture([line, cache], [0.5, 0.5]).horizon is None


def test_models_of_different_vocabularies_are_refused() -> None:
    with pytest.raises(InputError, match=r"different vocabularies.*6, 7 tokens"):
        Mixture([ngram(2), ngram(2, size=7)], [0.5, 0.5])


@pytest.mark.parametrize("weights", [[0.5, 0.6], [1.5, -0.5], [0.0, 0.0]])
def test_weights_that_are_no_distribution_are_refused(weights: list[float]) -> None:
    with pytest.raises(InputError, match="sum to one"):
        Mixture([ngram(1), ngram(2)], weights)


def test_it_describes_itself_as_plain_data() -> None:
    described = json.loads(json.dumps(Mixture([ngram(1), ngram(2)], [0.25, 0.75]).describe()))
    assert described["weights"] == [0.25, 0.75]
    assert [part["order"] for part in described["models"]] == [1, 2]


def log_likelihood(weights: np.ndarray, log_probs: np.ndarray) -> np.ndarray:
    """Of each row of weights, (G, K) and (K, N) -> (G,)."""
    return np.log(weights @ np.exp(log_probs)).sum(axis=1)


def test_fitted_weights_are_the_best_on_a_fine_grid() -> None:
    for seed in range(5):
        random = np.random.default_rng(seed)
        log_probs = np.log(random.dirichlet([0.3, 0.7, 2], size=80).T)  # (3, 80)
        for parts in (log_probs[:2], log_probs[1:], log_probs[[0, 2]]):
            grid = np.linspace(0.0005, 0.9995, 1000)
            weights = np.stack([grid, 1 - grid], axis=1)
            best = weights[np.argmax(log_likelihood(weights, parts))]
            found = fit_weights(parts)
            assert found == pytest.approx(best, abs=2e-3)
            most = log_likelihood(weights, parts).max()
            assert log_likelihood(found[None], parts)[0] >= most - 1e-6


def test_weights_of_made_up_data_come_back() -> None:
    true = np.array([0.6, 0.1, 0.3])
    sources = RANDOM.dirichlet(np.full(20, 0.2), size=3)  # three distributions of 20 words
    words = np.concatenate(
        [RANDOM.choice(20, round(20_000 * w), p=p) for w, p in zip(true, sources, strict=True)]
    )
    with np.errstate(divide="ignore"):
        found = fit_weights(np.log(sources[:, words]))
    assert found == pytest.approx(true, abs=0.02)


def test_a_useless_model_gets_nothing() -> None:
    good, bad = np.log([0.9, 0.8, 0.9]), np.log([0.1, 0.1, 0.1])
    assert fit_weights(np.stack([good, bad])) == pytest.approx([1, 0], abs=1e-6)


def test_tokens_impossible_for_all_say_nothing() -> None:
    log_probs = np.log([[0.5, 0.1, 0.3], [0.1, 0.6, 0.2]])
    impossible = np.full((2, 1), -np.inf)
    with_it = fit_weights(np.concatenate([log_probs, impossible], axis=1))
    assert with_it == pytest.approx(fit_weights(log_probs))


def test_nothing_to_fit_on_leaves_all_weights_alike() -> None:
    assert fit_weights(np.empty((2, 0))) == pytest.approx([0.5, 0.5])
    assert fit_weights(np.full((2, 3), -np.inf)) == pytest.approx([0.5, 0.5])
