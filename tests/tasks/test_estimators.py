"""fit, predict and score, alone and inside of scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tagged import RECIPE, tagged_sentences

import elman
from elman.errors import InputError
from elman.tasks.tagging.reader import read_tagged
from elman.text.reader import Document

Lists = tuple[list[list[str]], list[list[str]]]


def lists(count: int, seed: int) -> Lists:
    read = read_tagged(Document("drawn", tagged_sentences(count, seed)))
    return [[*one.words] for one in read], [[*one.tags] for one in read]


@pytest.fixture
def tagger(tmp_path: Path) -> elman.Tagger:
    (tmp_path / "small.toml").write_text(RECIPE)
    return elman.Tagger(str(tmp_path / "small.toml"), seed=3, threads=1, training__epochs=3)


def test_it_learns_and_answers(tagger: elman.Tagger, tmp_path: Path) -> None:
    assert tagger.fit(*lists(160, 0)) is tagger
    sentences, tags = lists(20, 1)
    assert tagger.score(sentences, tags) > 0.98
    assert tagger.predict([["Ann", "Bobson", "sees", "."], []])[0] == ["B-PER", "I-PER", "O", "O"]
    assert tagger.classes_.tolist() == ["B-LOC", "B-PER", "I-PER", "O"]
    assert tagger.measure(sentences, tags).entities.all.f1 > 0.98
    tagger.trained_.save(tmp_path / "run")
    assert elman.load(tmp_path / "run").tag(sentences) == tagger.predict(sentences).tolist()
    assert tagger.trained_.config.training.epochs == 3
    assert tagger.trained_.facts["data"]["examples"] == 144  # a tenth is held out


def test_validation_may_be_given(tagger: elman.Tagger) -> None:
    tagger.set_params(training__epochs=0.2).fit(*lists(20, 0), validation=lists(7, 1))
    assert tagger.trained_.facts["data"]["examples"] == 20
    assert tagger.trained_.facts["validation"]["tokens"] == sum(map(len, lists(7, 1)[0]))


def test_settings_of_all_types(tagger: elman.Tagger) -> None:
    tagger.set_params(
        model__bidirectional=False,
        model__characters="none",
        model__hidden_size=[5, 6],
        model__num_layers=2,
        model__options__forget_bias=1.5,
        training__epochs=0.1,
    )
    config = tagger.fit(*lists(10, 0)).trained_.config
    assert config.model.hidden_size == (5, 6)
    assert (config.model.bidirectional, config.model.characters) == (False, "none")
    assert config.model.options["forget_bias"] == 1.5


def test_what_is_wrong_is_said(tagger: elman.Tagger) -> None:
    sentences, tags = lists(10, 0)
    with pytest.raises(InputError, match="unknown setting 'epochs'; write section__field"):
        elman.Tagger(epochs=3)
    with pytest.raises(InputError, match="unknown"):
        elman.Tagger(training__epoch=3).fit(sentences, tags)
    with pytest.raises(InputError, match="recipe quick: is a recurrent, not a tagger"):
        elman.Tagger("quick").fit(sentences, tags)
    with pytest.raises(InputError, match="this Tagger is not trained yet; call fit first"):
        tagger.predict(sentences)
    with pytest.raises(
        InputError,
        match="9 lists of tags; give one list of tags for each sentence",
    ):
        tagger.fit(sentences, tags[:-1])
    with pytest.raises(InputError, match="no examples"):
        tagger.fit([], [])
    with pytest.raises(InputError, match="1 words have 2 tags; give one for each"):
        tagger.fit([["a"]], [["X", "Y"]])
    with pytest.raises(InputError, match="mixes BIO and BIOES"):
        tagger.fit([["a"], ["b"]], [["S-X"], ["B-X"]])


def test_scikit_learn_can_clone_it(tagger: elman.Tagger) -> None:
    base = pytest.importorskip("sklearn.base")
    tagger.set_params(training__epochs=0.1, model__hidden_size=5).fit(*lists(10, 0))
    copy = base.clone(tagger)
    assert copy.get_params() == tagger.get_params()
    assert not hasattr(copy, "trained_")
    copy.set_params(model__hidden_size=6, seed=4)
    assert tagger.get_params()["model__hidden_size"] == 5
    assert "model__hidden_size=6" in repr(copy)


class Shouting:
    """A step of a pipeline that converts texts to capitals."""

    def fit(self, X: Any, y: Any = None) -> Shouting:
        return self

    def transform(self, X: list[list[str]]) -> list[list[str]]:
        return [[word.upper() for word in words] for words in X]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {}

    def set_params(self) -> Shouting:
        return self

    def __sklearn_tags__(self) -> Any:
        return pytest.importorskip("sklearn.utils").Tags(
            estimator_type=None, target_tags=pytest.importorskip("sklearn.utils").TargetTags(False)
        )


def test_a_pipeline_and_a_search_work(tagger: elman.Tagger) -> None:
    pipelines = pytest.importorskip("sklearn.pipeline")
    selection = pytest.importorskip("sklearn.model_selection")
    pipeline = pipelines.Pipeline([("loud", Shouting()), ("tagger", tagger)])
    sentences, tags = lists(60, 0)
    pipeline.set_params(tagger__training__epochs=2)
    assert tagger.get_params()["training__epochs"] == 2
    pipeline.fit(sentences, tags)
    assert pipeline.predict([["Ann", "sees", "."]]).tolist() == [["B-PER", "O", "O"]]
    assert pipeline.score(sentences, tags) > 0.9
    search = selection.GridSearchCV(
        tagger, {"training__epochs": [0.1, 2]}, cv=selection.KFold(2), refit=False
    )
    search.fit(sentences, tags)
    assert search.best_params_ == {"training__epochs": 2}
