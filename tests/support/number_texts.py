"""Estimators that read rows of numbers as texts, so that scikit-learn's checks can run them.

The checks give matrices. Each number becomes a word: a row (0.3, -2.1) is the text "a1 b-4".
Nothing is validated here, so every refusal is elman's own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np

import elman

_FOLDER = Path(__file__).parent
_MOST = 26  # columns with a letter of their own


def as_texts(X: Any) -> Any:
    """Rows of a matrix as texts; anything else is left to elman."""
    if hasattr(X, "toarray"):
        return X  # sparse
    array = np.asarray(X)
    if array.dtype == object and array.ndim == 2:
        array = array.astype(float)
    readable = array.ndim == 2 and array.dtype.kind in "iuf" and array.shape[1] <= _MOST
    if not readable or not np.isfinite(array).all():
        return array
    return [
        " ".join(f"{chr(ord('a') + n)}{round(2 * float(value))}" for n, value in enumerate(row))
        for row in array
    ]


class NumberTags:
    """The tags of an estimator, except that X is a matrix."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array, tags.input_tags.string = True, False
        return tags


class NumberClassifier(NumberTags, elman.Classifier):
    """Classifies rows of numbers."""

    default_recipe = str(_FOLDER / "small-classifier.toml")

    def fit(self, X: Any, y: Any, validation: Any = None, sample_weight: Any = None) -> Self:
        return super().fit(as_texts(X), y, validation, sample_weight)

    def predict(self, X: Any) -> np.ndarray:
        return super().predict(as_texts(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        return super().predict_proba(as_texts(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        return super().score(as_texts(X), y, sample_weight)


class NumberTagger(NumberTags, elman.Tagger):
    """Tags every number of a row with the answer of the row."""

    default_recipe = str(_FOLDER / "small-tagger.toml")

    def fit(self, X: Any, y: Any, validation: Any = None) -> Self:
        return super().fit(self._words(X), self._tags(X, y))

    def predict(self, X: Any) -> np.ndarray:
        return super().predict(self._words(X))

    def score(self, X: Any, y: Any) -> float:
        return super().score(self._words(X), self._tags(X, y))

    @staticmethod
    def _words(X: Any) -> Any:
        texts = as_texts(X)
        return [text.split() for text in texts] if isinstance(texts, list) else texts

    @classmethod
    def _tags(cls, X: Any, y: Any) -> Any:
        words = cls._words(X)
        if not isinstance(words, list) or not hasattr(y, "__len__"):
            return y
        return [[f"t{tag}"] * len(row) for row, tag in zip(words, y, strict=False)]


class NumberTranslator(NumberTags, elman.Translator):
    """Translates a row of numbers into its answer."""

    default_recipe = str(_FOLDER / "small-translator.toml")

    def fit(self, X: Any, y: Any, validation: Any = None) -> Self:
        return super().fit(as_texts(X), _answers(y))

    def predict(self, X: Any) -> np.ndarray:
        return super().predict(as_texts(X))

    def score(self, X: Any, y: Any) -> float:
        return super().score(as_texts(X), _answers(y))


def _answers(y: Any) -> Any:
    return [f"answer {one}" for one in y] if hasattr(y, "__len__") else y


class NumberModel(NumberTags, elman.LanguageModel):
    """A language model of rows of numbers."""

    def fit(self, X: Any, y: Any = None, validation: Any = None) -> Self:
        return super().fit(as_texts(X), y)

    def score(self, X: Any, y: Any = None) -> float:
        return super().score(as_texts(X), y)
