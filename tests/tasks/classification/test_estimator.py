"""The classifier as a scikit-learn estimator."""

from __future__ import annotations

import numpy as np
import pytest
from films import SMALL, draw_texts

import elman
from elman.errors import InputError

pytestmark = pytest.mark.usefixtures("without_curves")


def test_an_estimator_fits_predicts_and_scores() -> None:
    settings = {setting.replace(".", "__"): value for setting, value in map(_parted, SMALL)}
    labels, given = zip(*draw_texts(80, 0), strict=True)
    classifier = elman.Classifier(**settings).fit(given, labels)
    right, others = zip(*draw_texts(40, 2), strict=True)
    guessed = classifier.predict(others)
    share = sum(a == b for a, b in zip(right, guessed, strict=True)) / 40
    assert classifier.score(others, right) == pytest.approx(share)
    assert share > 0.9
    assert classifier.classes_.tolist() == ["bad", "good"]
    for row, label in zip(classifier.predict_proba(others), guessed, strict=True):
        assert sum(row) == pytest.approx(1)
        assert classifier.classes_[int(np.argmax(row))] == label


def _parted(setting: str) -> tuple[str, float]:
    name, _, value = setting.partition("=")
    return name, float(value)


def test_an_estimator_wants_a_label_for_every_text() -> None:
    with pytest.raises(InputError, match=r"y\[1\] is an empty label"):
        elman.Classifier().fit(["a film .", "a cast ."] * 5, ["good", ""] * 5)


def test_an_empty_text_is_named_by_its_place() -> None:
    texts, labels = ["a fine film .", "a dull cast ."] * 10, ["good", "bad"] * 10
    classifier = elman.Classifier(model__hidden_size=4, training__epochs=0.1, threads=1)
    with pytest.raises(InputError, match=r"X\[20\] is an empty text"):
        classifier.fit([*texts, " ", "a film ."], [*labels, "good", "bad"])
    with pytest.raises(InputError, match=r"X\[1\] is an empty text"):
        classifier.fit(texts, labels).predict(["a film .", ""])
