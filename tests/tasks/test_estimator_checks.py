"""The checks of scikit-learn (`estimator_checks`) on all four estimators.

Estimators of texts are exempt from the checks, because they give matrices. So each estimator is
also checked on rows of numbers that are written as texts (`number_texts.py`). A check that fails is
listed with its reason; one that passes although it is listed is an error.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import pytest
from number_texts import NumberClassifier, NumberModel, NumberTagger, NumberTranslator

import elman

checks = pytest.importorskip("sklearn.utils.estimator_checks")
pytestmark = [pytest.mark.usefixtures("without_curves"), pytest.mark.slow]

_SETTINGS = "the settings of a recipe are **settings; the check sets an argument named settings"
_TEXTS = "X is texts, not numbers: there are no features to count"
_NOT_TEXT = "refused as 'not a text', without the words about matrices that the check expects"
_ANSWERS = "a language model refuses y instead of ignoring it"
EVERY = {
    "check_do_not_raise_errors_in_init_or_set_params": _SETTINGS,
    "check_n_features_in_after_fitting": _TEXTS,
}
CLASSIFIER = {
    "check_n_features_in": _TEXTS,
    "check_complex_data": _NOT_TEXT,
    "check_estimators_empty_data_messages": _NOT_TEXT,
    "check_estimators_nan_inf": _NOT_TEXT,
    "check_fit2d_predict1d": _NOT_TEXT,
    "check_supervised_y_2d": "a column of labels is refused, not flattened with a warning",
    "check_sample_weight_equivalence_on_dense_data": (
        "a repeated example changes minibatches and the held-out tenth; the loss is the same, see "
        "test_weights.py"
    ),
}
MODEL = {
    "check_fit_score_takes_y": _ANSWERS,
    "check_estimators_overwrite_params": _ANSWERS,
    "check_dont_overwrite_parameters": _ANSWERS,
    "check_estimators_fit_returns_self": _ANSWERS,
    "check_readonly_memmap_input": _ANSWERS,
    "check_n_features_in_after_fitting": _ANSWERS,
    "check_positive_only_tag_during_fit": _ANSWERS,
}
ALL = [
    (NumberClassifier(threads=1), CLASSIFIER, True),
    (NumberTagger(threads=1), {}, False),
    (NumberTranslator(threads=1), {}, False),
    (NumberModel(threads=1), MODEL, False),
]


def name_of(check: Any) -> str:
    return str((check.func if isinstance(check, partial) else check).__name__)


def cases() -> list[Any]:
    """Every check of every estimator; the further checks of matrices are for the classifier."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # BaseEstimator is not the base: it is never imported
        for estimator, failing, matrices in ALL:
            for _, check in checks.estimator_checks_generator(estimator, legacy=matrices):
                name = name_of(check)
                reason = {**EVERY, **failing}.get(name)
                kind = type(estimator).__name__.removeprefix("Number")
                found.append(pytest.param(estimator, check, reason, id=f"{kind}-{name}"))
    return found


@pytest.mark.parametrize(("estimator", "check", "reason"), cases())
def test_scikit_learn_checks(estimator: Any, check: Any, reason: str | None) -> None:
    if reason is None:
        check(estimator)
        return
    try:
        check(estimator)
    except Exception:  # each check raises its own
        return
    pytest.fail("this check passes; take it off the list")


def test_estimators_of_texts_are_exempt() -> None:
    kinds = (elman.Classifier, elman.Tagger, elman.Translator, elman.LanguageModel)
    for kind in kinds:
        with pytest.warns(checks.SkipTestWarning, match="requires input"):
            found = [*checks.estimator_checks_generator(kind())]
        assert [name_of(check) for _, check in found] == ["check_estimator_cloneable"]
