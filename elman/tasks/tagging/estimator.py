"""The estimator of taggers: words in, tags out."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from elman.errors import ArgumentError, InputError
from elman.tasks.arguments import as_objects, check_list, check_sentences, check_text
from elman.tasks.estimator import SupervisedEstimator
from elman.tasks.tagging.reader import TaggedSentence, Word
from elman.tasks.tagging.task import TrainedTagger, refuse_features, refuse_lengths
from elman.text.tag_schemes import check_scheme


class Tagger(SupervisedEstimator):
    """Tag words: X contains sentences as lists of words, y the tags of each sentence.

    With text__features, a word is a tuple of itself and its features: ("Rome", "NNP").
    """

    default_recipe = "tagger"
    trained_class = TrainedTagger
    trained_: TrainedTagger
    inputs = "sentences"
    answers = "lists of tags"

    def predict(self, X: Sequence[Sequence[Word]]) -> np.ndarray:
        """The tags of every sentence, an array of lists; `words` splits raw text."""
        trained = self._fitted()
        given = check_list(X, "X", self.inputs)
        check_sentences(given, "X")
        return as_objects(_checked(trained.tag, given))

    def words(self, texts: Sequence[str]) -> list[list[str]]:
        """The words of raw texts, one sentence each, split as in the training data."""
        trained = self._fitted()
        given = check_list(texts, "texts", "texts")
        for number, text in enumerate(given):
            check_text(text, f"texts[{number}]")
        return [trained.split_text(text) for text in given]

    def predict_marginals(self, X: Sequence[Sequence[Word]]) -> list[list[dict[str, float]]]:
        """The probability of every tag, by word and sentence, the likeliest first."""
        trained = self._fitted()
        given = check_list(X, "X", self.inputs)
        check_sentences(given, "X")
        found: list[list[dict[str, float]]] = _checked(trained.probabilities, given)
        return found

    @property
    def classes_(self) -> np.ndarray:
        """The tags, sorted."""
        return np.array(sorted(self._fitted().known_tags()))

    def _examples(
        self, X: Sequence[Sequence[Word]], y: Sequence[Sequence[str]]
    ) -> list[TaggedSentence]:
        check_sentences(X, "X")
        _check_tags(y)
        for number, sentence in enumerate(X):
            if not len(sentence):
                raise ArgumentError(f"X[{number}] has no words; leave it and its tags out")
        for words, tags in zip(X, y, strict=True):
            _checked(refuse_lengths, words, tags)
        _checked(refuse_features, X, self._config().text.features)
        sentences = [TaggedSentence.of(words, tags) for words, tags in zip(X, y, strict=True)]
        _checked(check_scheme, "y", [sentence.tags for sentence in sentences])
        return sentences


def _check_tags(y: Sequence[Any]) -> None:
    for number, tags in enumerate(y):
        if isinstance(tags, str):
            raise ArgumentError(f"y[{number}] is a single text; give a list of tags")
        for place, tag in enumerate(check_list(tags, f"y[{number}]", "tags")):
            check_text(tag, f"y[{number}][{place}]", "a tag")


def _checked(function: Any, *arguments: Any) -> Any:
    """Call a function whose complaints are about the arguments of the user."""
    try:
        return function(*arguments)
    except InputError as error:
        raise ArgumentError(str(error)) from None
