"""The arguments of estimators: what scikit-learn expects, and what is refused."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from films import draw_texts
from number_texts import NumberClassifier

import elman
from elman.errors import InputError

pytestmark = pytest.mark.usefixtures("without_curves")
RECIPE = NumberClassifier.default_recipe


def films(count: int, seed: int = 0) -> tuple[list[str], list[str]]:
    labels, texts = zip(*draw_texts(count, seed), strict=True)
    return [*texts], [*labels]


def small(**settings: Any) -> elman.Classifier:
    return elman.Classifier(RECIPE, threads=1, **{"training__epochs": 30, **settings})


@pytest.fixture(scope="module")
def classifier() -> elman.Classifier:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("elman.tasks.training_run.draw_curves", lambda records, path: None)
        return small().fit(*films(160))


# scikit-learn -------------------------------------------------------------------------------------


def test_scikit_learn_is_never_imported() -> None:
    code = (
        "import sys, elman\n"
        "from elman import Classifier, LanguageModel, Tagger, Translator\n"
        "for kind in (Classifier, Tagger, Translator, LanguageModel):\n"
        "    kind(seed=1).get_params()\n"
        "    try: kind().score(['a'])\n"
        "    except (elman.InputError, TypeError): pass\n"
        "LanguageModel().fit(['the cat sees a dog .'] * 20).score(['the cat .'])\n"
        "print(sorted(name for name in sys.modules if name.startswith('sklearn')))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_an_untrained_estimator_raises_the_error_of_scikit_learn() -> None:
    exceptions = pytest.importorskip("sklearn.exceptions")
    calls: dict[Any, Any] = {
        elman.Classifier: lambda one: one.predict(["a"]),
        elman.Tagger: lambda one: one.predict([["a"]]),
        elman.Translator: lambda one: one.predict(["a"]),
        elman.LanguageModel: lambda one: one.perplexity("a"),
    }
    for kind, call in calls.items():
        with pytest.raises(exceptions.NotFittedError, match="not trained yet; call fit first"):
            call(kind())
        with pytest.raises(InputError, match="not trained yet; call fit first"):
            call(kind())


def test_only_the_classifier_is_a_classifier() -> None:
    base = pytest.importorskip("sklearn.base")
    assert base.is_classifier(elman.Classifier())
    assert not base.is_classifier(elman.Tagger())
    assert elman.Classifier._estimator_type == "classifier"  # before scikit-learn 1.6


def test_cross_validation_is_stratified() -> None:
    """Without strata, labels in order would leave one label for training."""
    selection = pytest.importorskip("sklearn.model_selection")
    texts, labels = films(160)
    order = np.argsort(labels)
    scores = selection.cross_val_score(
        small(), [texts[n] for n in order], [labels[n] for n in order], cv=2, error_score="raise"
    )
    assert min(scores) > 0.9
    guessed = selection.cross_val_predict(small(), texts, labels, cv=2)
    assert (guessed == np.array(labels)).mean() > 0.9


def test_a_search_takes_numbers_of_numpy() -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    pipelines = pytest.importorskip("sklearn.pipeline")
    search = selection.GridSearchCV(
        pipelines.Pipeline([("classify", small(model__ngrams=0))]),
        {"classify__training__epochs": np.array([0.2, 30.0])},
        cv=2,
        error_score="raise",
    )
    search.fit(*films(60))
    assert search.best_params_ == {"classify__training__epochs": 30.0}


def test_settings_that_are_tables_and_none() -> None:
    given = small(training__class_weights={"good": 2, "bad": np.float64(1.5)})
    assert given._config().training.class_weights == {"good": 2.0, "bad": 1.5}
    translator = elman.Translator(text__vocabulary_size=None)
    assert translator._config().text.vocabulary_size is None
    with pytest.raises(ValueError, match="unknown setting '__class__'"):
        given.set_params(__class__=3)


def test_pickle_is_left_to_python(classifier: elman.Classifier) -> None:
    """elman writes no pickle; workers of joblib exchange estimators by it."""
    again = pickle.loads(pickle.dumps(classifier))
    texts = films(9, 1)[0]
    assert (again.predict_proba(texts) == classifier.predict_proba(texts)).all()


# Labels -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [
        np.array([10, 2]),
        np.array([1, 0], dtype=np.int8),
        np.array([True, False]),
        np.array([2.0, 10.0]),
        np.array(["pos", "neg"]),
        np.array(["pos", "neg"], dtype=object),
        np.array([True, False], dtype=object),
        [3, 20],
        [True, False],
    ],
    ids=lambda names: f"{getattr(names, 'dtype', 'list')}-{names[0]}",
)
def test_labels_keep_their_type(names: Any, tmp_path: Path) -> None:
    texts, labels = films(40)
    y = [names[int(label == "good")] for label in labels]
    given = np.array(y, dtype=names.dtype) if hasattr(names, "dtype") else y
    fitted = small().fit(texts, given)
    fitted.save(tmp_path / "run")
    for one in (fitted, elman.Classifier.load(tmp_path / "run")):
        guessed = one.predict(texts)
        assert guessed.dtype == one.classes_.dtype == np.array(given).dtype
        assert one.classes_.tolist() == np.unique(given).tolist()
        assert [type(label) for label in guessed.tolist()] == [
            type(y) for y in np.array(y).tolist()
        ]
        assert (guessed == np.array(given)).mean() == one.score(texts, given) > 0.9
        probabilities = one.predict_proba(texts)
        assert probabilities.shape == (40, 2)
        assert (one.classes_[probabilities.argmax(1)] == guessed).all()


@pytest.mark.parametrize(
    ("y", "problem"),
    [
        ([1, None] * 10, r"y\[1\] is missing: y contains NaN or None"),
        ([1.0, float("nan")] * 10, r"y\[1\] is missing: y contains NaN or None"),
        ([0.5, 1.5] * 10, r"Unknown label type: y\[0\]=0.5 is not a whole number"),
        ([1, "1"] * 10, "y mixes labels of the types int, str"),
        ([["a"], ["b"]] * 10, r"Unknown label type: y\[0\] has several labels"),
        (["a"] * 20, "only one class: every training text has the label 'a'"),
        (["a", "b"] * 9, "20 texts and 18 labels; give one label for each text"),
        ("ab" * 10, "y is a single text; give a list of labels"),
        (np.ones((20, 2)), "y has 2 dimensions"),
        (None, "requires y to be passed"),
    ],
)
def test_wrong_labels_are_refused(y: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as caught:
        small().fit(films(20)[0], y)
    assert isinstance(caught.value, InputError)


# Texts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "problem"),
    [
        ("a fine film .", "X is a single text; give a list of texts"),
        ([*"goodfilm"], r"X contains only single characters; give a list of texts: \[text\]"),
        ([[*"good"], "a film ."], r"X\[0\] contains only single characters; give the text as one"),
        (["a film .", None], r"X\[1\] is missing \(None\)"),
        (["a film .", float("nan")], r"X\[1\] is missing \(NaN\)"),
        (["a film .", 3], r"X\[1\] is of type int, not a text; give strings"),
        ([("a film .", None)], r"X\[0\] is missing \(None\)"),
        ([("a b", "c d", "e f")], r"X\[0\] is a list of 3 texts; give a text or a pair"),
        (None, "X is of type NoneType; give a list of texts"),
        ({"a": 1}, "X is of type dict; give a list of texts"),
        (3, "X is of type int; give a list of texts"),
    ],
)
def test_wrong_texts_are_refused(X: Any, problem: str, classifier: elman.Classifier) -> None:
    with pytest.raises(ValueError, match=problem):
        classifier.predict(X)
    count = len(X) if hasattr(X, "__len__") else 2
    with pytest.raises(ValueError, match=problem):
        small().fit(X, ["a", *["b"] * (count - 1)])


def test_tables_give_columns(classifier: elman.Classifier) -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"text": films(20)[0], "label": films(20)[1]})
    assert (classifier.predict(table["text"]) == classifier.predict(films(20)[0])).all()
    assert classifier.score(table["text"], table["label"]) > 0.9
    with pytest.raises(ValueError, match="X is a whole table; give one of its columns"):
        classifier.predict(table)


@pytest.mark.parametrize(
    ("X", "y", "problem"),
    [
        ("John walks", [["A", "B"]], "X is a single text; give a list of sentences"),
        (["John walks"], [["A", "B"]], r"X\[0\] is a single text; give every sentence as a list"),
        ([[*"John"]], [["A"] * 4], "X contains only single characters"),
        ([["John", None]], [["A", "B"]], r"X\[0\]\[1\] is missing \(None\)"),
        ([["John"], []], [["A"], []], r"X\[1\] has no words; leave it and its tags out"),
        ([["John", ""]], [["A", "B"]], r"X\[0\]\[1\] is an empty word"),
        ([["John"]], ["A"], r"y\[0\] is a single text; give a list of tags"),
        ([["John"]], [[1]], r"y\[0\]\[0\] is of type int, not a tag"),
        ([["John"]], [["A", "B"]], "1 words have 2 tags"),
    ],
)
def test_wrong_sentences_are_refused(X: Any, y: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        elman.Tagger().fit(X, y)


def test_words_of_one_character_may_be_words() -> None:
    """Chinese is often tagged character by character."""
    X, y = [["我", "爱", "北", "京"]] * 8, [["O", "O", "B", "I"]] * 8
    recipe = str(Path(RECIPE).with_name("small-tagger.toml"))
    tagger = elman.Tagger(recipe, threads=1, training__epochs=0.1)
    assert tagger.fit(X, y).predict(X[:1]).shape == (1,)


def test_wrong_sources_are_refused() -> None:
    for X, problem in (("a dog", "X is a single text"), ([*"a dog"], "X"), ([None], "X")):
        with pytest.raises(ValueError, match=problem):
            elman.Translator().fit(X, ["ein Hund"] * len(X))


# Weights ------------------------------------------------------------------------------------------


def test_weights_decide_between_contradictions() -> None:
    texts, labels = films(60)
    both = [*texts, *texts]
    wrong = ["good" if label == "bad" else "bad" for label in labels]
    weights = np.array([5.0] * 60 + [0.5] * 60)
    fitted = small().fit(both, [*labels, *wrong], sample_weight=weights)
    assert fitted.score(texts, labels) > 0.9
    assert fitted.score(both, [*labels, *wrong], weights) == pytest.approx(
        (10 * fitted.score(texts, labels) + fitted.score(texts, wrong)) / 11
    )


def test_weight_zero_is_absence() -> None:
    texts, labels = films(40)
    others = ["a third kind of text ."] * 10
    fitted = small().fit(
        [*texts, *others], [*labels, *["third"] * 10], sample_weight=[1] * 40 + [0] * 10
    )
    assert fitted.classes_.tolist() == ["bad", "good"]
    alone = small().fit(texts, labels)
    assert (fitted.predict_proba(texts) == alone.predict_proba(texts)).all()


def test_validation_may_have_weights() -> None:
    texts, labels = films(20, 1)
    flipped = ["good" if label == "bad" else "bad" for label in labels]
    valid = ([*texts, *texts], [*labels, *flipped])
    fitted = small().fit(*films(60), validation=valid)
    assert fitted.trained_.facts["validation"]["error"] == pytest.approx(0.5)
    fitted = small().fit(*films(60), validation=(*valid, [1] * 20 + [0] * 20))
    assert fitted.trained_.facts["validation"]["error"] < 0.1
    fitted = small().fit(*films(60), validation=(*valid, [3] * 20 + [1] * 20))
    assert fitted.trained_.facts["validation"]["error"] == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize(
    ("weights", "problem"),
    [
        ([1.0] * 19, "20 texts have 19 weights"),
        ([1.0] * 19 + [-1.0], r"sample_weight\[19\]: the weight -1 must be a number from 0"),
        ([1.0] * 19 + [float("nan")], r"sample_weight\[19\]: the weight nan must be"),
        ([0] * 20, "sample_weight is zero for every text"),
        (np.ones((20, 2)), "sample_weight has several dimensions"),
        ("balanced", "sample_weight is a single text; give a list of numbers"),
    ],
)
def test_wrong_weights_are_refused(weights: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        small().fit(*films(20), sample_weight=weights)


# Found by strangers -------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [["a", "b", "c", "d"], "ab", 3, (["a"],)])
def test_a_validation_that_is_no_pair_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match=r"validation must be a pair of texts and labels"):
        small().fit(*films(20), validation=given)
    with pytest.raises(ValueError, match=r"validation must be a pair of sentences and lists of"):
        elman.Tagger().fit([["a"]], [["A"]], validation=given)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"model__pooling": "foo"}, "unknown pooling 'foo'"),
        ({"training__class_weights": {"q": 5}}, "no training text has the label 'q'"),
        ({"training__epoks": 1}, "unknown setting training.epoks; did you mean 'epochs'"),
        ({"recipe": "nope"}, "unknown recipe 'nope'"),
    ],
)
def test_wrong_settings_are_value_errors(settings: dict[str, Any], problem: str) -> None:
    recipe = settings.pop("recipe", RECIPE)
    with pytest.raises(ValueError, match=problem) as caught:
        elman.Classifier(recipe, **settings).fit(*films(40))
    assert isinstance(caught.value, InputError)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("trainin__epochs", "did you mean 'training__epochs'"),
        ("modle__hidden_size", "did you mean 'model__hidden_size'"),
        ("sed", "did you mean 'seed'"),
        ("foo__bar", "the sections are text, model, training"),
        ("training__", "write section__field, like training__epochs=5"),
    ],
)
def test_unknown_parameters_are_refused_at_once(name: str, hint: str) -> None:
    for call in (elman.Classifier, elman.Classifier().set_params):
        with pytest.raises(ValueError, match=f"unknown setting '{name}'; .*{hint}"):
            call(**{name: 1})


def test_saving_over_a_folder_names_the_arguments_of_python(
    classifier: elman.Classifier, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("a")
    for saved in (classifier, classifier.trained_):
        with pytest.raises(ValueError, match="choose another path or set overwrite=True") as caught:
            saved.save(tmp_path)
        assert "--" not in str(caught.value)


def test_labels_from_a_generator() -> None:
    texts, labels = films(60)
    trained = small(training__epochs=1).fit(iter(texts), iter(labels))
    assert [*trained.classes_] == ["bad", "good"]


def test_probabilities_of_no_texts(classifier: elman.Classifier) -> None:
    assert classifier.predict_proba([]).shape == (0, 2)


def test_texts_in_place_of_words_have_no_marginals() -> None:
    tagger = elman.Tagger(
        model__hidden_size=4, model__embedding_size=4, training__epochs=1, threads=1
    )
    tagger.fit([["Ann", "sleeps"], ["He", "walks"]] * 8, [["N", "V"], ["P", "V"]] * 8)
    with pytest.raises(ValueError, match=r"X\[0\] is a single text"):
        tagger.predict_marginals(["Ann sleeps"])


def test_a_language_model_takes_texts() -> None:
    model = elman.LanguageModel().fit(["the cat sees a dog ."] * 20)
    for call in (model.surprisal, model.suggest, model.generate):
        for given in (5, None, ["the cat"]):
            with pytest.raises(ValueError, match=r"(text|prompt)( is of type|: give one text)"):
                call(given)  # type: ignore[operator]
    with pytest.raises(ValueError, match=r"the cat sat: no such file.*put it into a list"):
        elman.LanguageModel().fit("the cat sat")
