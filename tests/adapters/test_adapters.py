"""Adapters as they are written on the command line: `name:key=value,…`."""

import numpy as np
import pytest

from elman.adapters import ADAPTERS, FitContext, adapt
from elman.adapters.cache import UnigramCache
from elman.adapters.mixture import Mixture
from elman.counts.estimate import NgramConfig
from elman.errors import InputError
from elman.evaluation.scoring import score_ids
from elman.models.contract import LanguageModel
from elman.models.ngram import NGram

SIZE, EOS = 8, 0
RANDOM = np.random.default_rng(4)
# Words come in runs, so that a cache is of use.
TEXT = np.repeat(RANDOM.integers(0, SIZE, 100), 4)
VALID = np.repeat(RANDOM.integers(0, SIZE, 60), 4)


def ngram(order: int, size: int = SIZE) -> NGram:
    config = NgramConfig(order=order, smoothing="witten-bell")
    return NGram.fit(TEXT, config, vocabulary_size=size, eos_id=EOS)


def on_validation(model: LanguageModel) -> np.ndarray:
    return score_ids(model, VALID, eos_id=EOS)


def around() -> FitContext:
    others = {"runs/bigram": ngram(2), "runs/large": ngram(2, size=9)}
    return FitContext(on_validation, others.__getitem__)


def refuse_to_score(model: LanguageModel) -> np.ndarray:
    raise AssertionError("nothing has to be fitted")


def cache_of(model: LanguageModel) -> UnigramCache:
    assert isinstance(model, Mixture)
    assert isinstance(model.models[1], UnigramCache)
    return model.models[1]


def test_settings_after_the_colon() -> None:
    unused = FitContext(refuse_to_score, lambda path: ngram(2))
    model = adapt(ngram(1), ["cache:decay=0.02,window=50,weight=0.25"], unused)
    assert cache_of(model).config.decay == 0.02
    assert cache_of(model).config.window == 50
    assert model.weights == [0.75, 0.25]
    whole_number = adapt(ngram(1), ["cache:weight=1,"], unused)
    assert whole_number.weights == [0, 1]


def test_a_weight_that_is_not_given_is_fitted_on_validation_text() -> None:
    fitted = adapt(ngram(1), ["cache:window=3"], around())
    best = -on_validation(fitted).sum()
    assert 0.05 < fitted.weights[1] < 0.95
    for weight in np.linspace(0.01, 0.99, 50):
        other = adapt(ngram(1), [f"cache:window=3,weight={weight}"], around())
        assert best <= -on_validation(other).sum() + 1e-9


def test_another_run_is_mixed_in() -> None:
    model = adapt(ngram(1), ["mix:run=runs/bigram,weight=0.3"], around())
    assert isinstance(model, Mixture)
    assert [part.tables.order for part in model.models] == [1, 2]
    assert model.weights == [0.7, 0.3]
    fitted = adapt(ngram(1), ["mix:run=runs/bigram"], around())
    assert fitted.weights[1] > 0.9  # runs are what a bigram sees and a unigram does not


def test_adapters_go_around_adapters() -> None:
    model = adapt(ngram(1), ["mix:run=runs/bigram,weight=0.3"], around())
    model = adapt(model, ["cache:weight=0.1"], around())
    assert isinstance(model, Mixture)
    assert isinstance(model.models[0], Mixture)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("cash", "unknown adapter 'cash'; did you mean 'cache'"),
        ("", "unknown adapter ''"),
        ("cache:windows=3", r"unknown setting cache.windows; did you mean 'window'"),
        ("cache:window=many", "cache.window='many': expected"),
        ("cache:window=2.5", "cache.window=2.5: expected"),
        ("cache:window", "cache:window: write settings as cache:key=value"),
        ("cache:window=0", "window=0 must be at least 1"),
        ("cache:weight=2", "weight=2.0 must be from 0 to 1"),
        ("mix", "name the other run, as in --with mix:run=FOLDER"),
        ("mix:run=runs/bigram,weight=-1", "weight=-1.0 must be from 0 to 1"),
        ("mix:run=runs/large", "different vocabularies"),
        ("temperature:value=0", "value=0.0 must be above 0"),
        ("documents:lines=-1", "lines=-1 must not be negative"),
        ("documents:lines=1,mark=a", "lines or a mark, not both"),
        ("documents:mark=a", "needs more than is known here"),
        ("continuous-cache:window=0", "window=0 must be at least 1"),
        ("continuous-cache:theta=-1", "theta=-1.0 must be 0 or more"),
        ("continuous-cache:weight=2", "weight=2.0 must be from 0 to 1"),
        ("dynamic:rule=adam", "unknown rule 'adam'"),
        ("dynamic:segment=0", "segment=0 must be at least 1"),
        ("dynamic:rate=-1", "rate=-1.0 must be 0 or more"),
        ("dynamic:decay=2", "decay=2.0 must be from 0 to 1"),
        ("dynamic:epsilon=0", "epsilon=0.0 must be above 0"),
        ("monte-carlo:samples=0", "samples=0 must be at least 1"),
    ],
)
def test_what_cannot_be_is_refused(written: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        adapt(ngram(1), [written], around())


def test_what_cannot_be_mixed_is_refused_before_the_long_work() -> None:
    unused = FitContext(refuse_to_score, lambda path: ngram(2, size=9))
    with pytest.raises(InputError, match="different vocabularies"):
        adapt(ngram(1), ["mix:run=large"], unused)


def test_every_adapter_says_what_it_is() -> None:
    assert all(ADAPTERS.choose(name).ABOUT for name in ADAPTERS)


def test_an_adapter_describes_itself_by_its_name_and_settings() -> None:
    model = adapt(ngram(1), ["temperature:value=2", "documents:lines=3"], around())
    described = model.describe()
    assert [*described] == ["model", "lines", "around"]
    assert described["model"] == "documents"
    assert described["lines"] == 3
    assert described["around"]["model"] == "temperature"
    assert described["around"]["value"] == 2
    assert described["around"]["around"]["model"] == "ngram"


def test_weights_of_all_models_are_fitted_together() -> None:
    around_all = around()
    model = adapt(ngram(1), ["mix:run=runs/bigram", "cache:window=3"], around_all)
    assert isinstance(model, Mixture)
    assert len(model.models) == 3
    best = -on_validation(model).sum()
    for weights in RANDOM.dirichlet([1, 1, 1], 50).tolist():
        assert best <= -on_validation(Mixture(model.models, weights)).sum() + 1e-9


def test_validation_text_is_scored_once_for_each_model() -> None:
    scored = []

    def score(model: LanguageModel) -> np.ndarray:
        scored.append(model)
        return on_validation(model)

    adapt(
        ngram(1),
        ["cache:window=3", "mix:run=other", "cache:window=9"],
        FitContext(score, lambda path: ngram(2)),
    )
    assert len(scored) == 4


@pytest.mark.parametrize("name", ["continuous-cache", "dynamic", "monte-carlo"])
def test_counts_have_no_vectors_gradients_or_dropout(name: str) -> None:
    with pytest.raises(InputError, match=f"{name}: .*neural run"):
        adapt(ngram(1), [name], around())
