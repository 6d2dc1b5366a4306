"""The estimator of taggers: words in, tags out."""

from collections.abc import Sequence

from elman.tasks.estimator import SupervisedEstimator
from elman.tasks.tagging.reader import TaggedSentence, Word
from elman.tasks.tagging.task import TrainedTagger, refuse_features, refuse_lengths
from elman.text.tag_schemes import check_scheme


class Tagger(SupervisedEstimator):
    """Tag words: X contains sentences as lists of words, y the tags of each sentence.

    With text__features, a word is a tuple of itself and its features: ("Rome", "NNP").
    """

    recipe = "tagger"
    trained_class = TrainedTagger
    trained_: TrainedTagger

    def predict(self, X: Sequence[Sequence[Word]]) -> list[list[str]]:
        tagged: list[list[str]] = self._fitted().tag(X)
        return tagged

    def predict_marginals(self, X: Sequence[Sequence[Word]]) -> list[list[dict[str, float]]]:
        """The probability of every tag, by word and sentence, the likeliest first."""
        found: list[list[dict[str, float]]] = self._fitted().probabilities(X)
        return found

    @property
    def classes_(self) -> list[str]:
        """The tags."""
        return sorted(self._fitted().known_tags())

    def _examples(
        self, X: Sequence[Sequence[Word]], y: Sequence[Sequence[str]]
    ) -> list[TaggedSentence]:
        for words, tags in zip(X, y, strict=True):
            refuse_lengths(words, tags)
        refuse_features(X, self._config().text.features)
        sentences = [TaggedSentence.of(words, tags) for words, tags in zip(X, y, strict=True)]
        check_scheme("y", [sentence.tags for sentence in sentences])
        return sentences
