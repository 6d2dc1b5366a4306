"""The estimator of encoder–decoders: sources in, texts out."""

from collections.abc import Sequence

import numpy as np

from elman.errors import InputError
from elman.tasks.estimator import SupervisedEstimator
from elman.tasks.translation.measures import TranslationMeasures
from elman.tasks.translation.pairs import Pair
from elman.tasks.translation.trained import TrainedTranslator


class Translator(SupervisedEstimator):
    """Translate texts: X contains sources, y a target for each, one line each.

    With a recipe that reads vectors, like `captioner`, a source is an array (S, F).
    """

    recipe = "translator"
    trained_class = TrainedTranslator
    trained_: TrainedTranslator

    def predict(self, X: Sequence[str | np.ndarray]) -> list[str]:
        """The best output of every source by beam search; an empty source gives an empty text."""
        translated: list[str] = self._fitted().translate(X)
        return translated

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
        return [Pair(source, target) for source, target in zip(X, y, strict=True)]


def _check_text(name: str, text: object) -> None:
    """Refuse anything that cannot be one side of a pair."""
    if not isinstance(text, str):
        raise InputError(f"{name} is of type {type(text).__name__}, not a text; give strings")
    if not text.strip():
        raise InputError(f"{name} is an empty text; leave out the pair")
    if "\n" in text:
        raise InputError(f"{name} has a line end; give one line each")
