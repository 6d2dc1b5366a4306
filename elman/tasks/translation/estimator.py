"""The estimator of encoder–decoders: sources in, texts out."""

from collections.abc import Sequence

import numpy as np

from elman.errors import ArgumentError, argument_errors
from elman.tasks.arguments import as_objects, check_list, check_text, refuse_characters
from elman.tasks.estimator import SupervisedEstimator
from elman.tasks.translation.measures import TranslationMeasures
from elman.tasks.translation.pairs import Pair
from elman.tasks.translation.trained import TrainedTranslator


class Translator(SupervisedEstimator):
    """Translate texts: X contains sources, y a target for each, one line each.

    With a recipe that reads vectors, like `captioner`, a source is an array (S, F).
    """

    default_recipe = "translator"
    trained_class = TrainedTranslator
    trained_: TrainedTranslator

    inputs = "sources"
    answers = "targets"

    @argument_errors()
    def predict(self, X: Sequence[str | np.ndarray]) -> np.ndarray:
        """The best output of every source by beam search; an empty source gives an empty text."""
        trained = self._fitted()
        given = check_list(X, "X", self.inputs)
        for number, source in enumerate(given):
            if not isinstance(source, np.ndarray):
                check_text(source, f"X[{number}]")
        _refuse_characters(given, "X")
        return as_objects(trained.translate(given))

    def score(self, X: Sequence[str | np.ndarray], y: Sequence[str]) -> float:
        """BLEU, from 0 to 100; `measure` also returns its signature."""
        return self.measure(X, y).whole.bleu

    def measure(self, X: Sequence[str | np.ndarray], y: Sequence[str]) -> TranslationMeasures:
        """BLEU, chrF, ROUGE and exact match, overall and by source length."""
        measured: TranslationMeasures = super().measure(X, y)
        return measured

    def _examples(self, X: Sequence[str | np.ndarray], y: Sequence[str]) -> list[Pair]:
        for number, (source, target) in enumerate(zip(X, y, strict=True)):
            if not isinstance(source, np.ndarray):
                _check_text(f"X[{number}]", source)
            _check_text(f"y[{number}]", target)
        _refuse_characters(X, "X")
        _refuse_characters(y, "y")
        return [Pair(source, target) for source, target in zip(X, y, strict=True)]


def _check_text(name: str, text: object) -> None:
    """Refuse anything that cannot be one side of a pair."""
    check_text(text, name)
    if not str(text).strip():
        raise ArgumentError(f"{name} is an empty text; leave out the pair")
    if "\n" in str(text):
        raise ArgumentError(f"{name} has a line break; give one line per text")


def _refuse_characters(texts: Sequence[str | np.ndarray], name: str) -> None:
    plain = (text for text in texts if isinstance(text, str))
    refuse_characters(plain, name, "give a list of texts: [text], not list(text)")
