"""The estimator of classifiers: texts in, labels out."""

from collections.abc import Sequence

from elman.errors import InputError
from elman.tasks.classification.reader import Example
from elman.tasks.classification.trained import Classified, TrainedClassifier
from elman.tasks.estimator import SupervisedEstimator


class Classifier(SupervisedEstimator):
    """Classify texts: X contains texts or pairs of texts, y a label for each."""

    recipe = "classifier"
    trained_class = TrainedClassifier
    trained_: TrainedClassifier

    def predict(self, X: Sequence[str | Sequence[str]]) -> list[str]:
        return [found.label for found in self._classified(X)]

    def predict_proba(self, X: Sequence[str | Sequence[str]]) -> list[list[float]]:
        """The probability of every label, in the order of `classes_`."""
        found = self._classified(X)
        return [[one.probabilities[label] for label in self.classes_] for one in found]

    def _classified(self, X: Sequence[str | Sequence[str]]) -> list[Classified]:
        fitted = self._fitted()
        if fitted.task.several:
            raise InputError(
                "this classifier gives several labels per text; call trained_.label(X)"
            )
        found = fitted.classify_lines(X)
        for number, one in enumerate(found):
            if one is None:
                raise InputError(f"X[{number}] is an empty text; leave it out")
        return list(found)

    @property
    def classes_(self) -> list[str]:
        """The labels."""
        return list(self._fitted().task.labels)

    def _examples(self, X: Sequence[str | Sequence[str]], y: Sequence[str]) -> list[Example]:
        given_labels: Sequence[object] = y
        for number, label in enumerate(given_labels):
            if isinstance(label, list | tuple | set | frozenset):
                raise InputError(
                    f"y[{number}] has several labels; this estimator takes one label per text. "
                    "For several, train on a file: elman train classifier --data FILE.jsonl"
                )
        examples = [
            Example((given,) if isinstance(given, str) else tuple(given), str(label))
            for given, label in zip(X, y, strict=True)
        ]
        for number, example in enumerate(examples):
            if not example.label:
                raise InputError(f"y[{number}] is an empty label; give every text one")
            if not all(text.strip() for text in example.texts):
                raise InputError(f"X[{number}] is an empty text; leave it and its label out")
        return examples
