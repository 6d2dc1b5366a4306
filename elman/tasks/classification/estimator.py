"""The estimator of classifiers: texts in, labels out."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from elman.errors import ArgumentError, InputError
from elman.tasks.arguments import check_list, check_text, check_validation, refuse_characters
from elman.tasks.classification.labels import Labels, LabelType
from elman.tasks.classification.reader import Example
from elman.tasks.classification.trained import Classified, TrainedClassifier
from elman.tasks.classification.weights import read_weight
from elman.tasks.estimator import SupervisedEstimator

Texts = Sequence[str | Sequence[str]]


class Classifier(SupervisedEstimator):
    """Classify texts: X contains texts or pairs of texts, y a label for each.

    A label is a text, a whole number or a boolean; predictions have the same type.
    """

    default_recipe = "classifier"
    trained_class = TrainedClassifier
    trained_: TrainedClassifier
    answers = "labels"
    _estimator_type = "classifier"

    def fit(
        self, X: Texts, y: Sequence[Any], validation: Any = None, sample_weight: Any = None
    ) -> Self:
        """Train; `validation`: texts, labels and possibly weights. Default: a random tenth of X.

        `sample_weight`: a number of at least 0 for each text. A weight of 2 counts like the text
        given twice; a weight of 0 leaves the text out. Validation is weighted only if its texts
        have weights.
        """
        y = y if y is None else check_list(y, "y", self.answers)  # a generator is read once
        train = self._weighted(X, y, sample_weight)
        valid = None if validation is None else self._weighted(*self._given(validation))
        self._train(train, valid)
        label_type = Labels.read(y).type
        self.trained_.facts["task"]["label_type"] = label_type.to_data()
        return self

    def predict(self, X: Texts) -> np.ndarray:
        """The most probable label of each text."""
        found = self._classified(X)
        return self._label_type().restore([one.label for one in found])

    def predict_proba(self, X: Texts) -> np.ndarray:
        """The probability of every label, (texts, labels), in the order of `classes_`."""
        found, names = self._classified(X), self._names()
        rows = [[one.probabilities[name] for name in names] for one in found]
        return np.array(rows).reshape(len(found), len(names))

    def score(self, X: Texts, y: Sequence[Any], sample_weight: Any = None) -> float:
        """Accuracy; each text counts by its weight."""
        examples = self._weighted(X, y, sample_weight)
        found = self._classified([example.texts for example in examples])
        right = [one.label == ex.label for one, ex in zip(found, examples, strict=True)]
        return float(np.average(right, weights=[example.weight for example in examples]))

    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted."""
        return self._label_type().restore(self._names())

    def _names(self) -> list[str]:
        """The labels as texts, in the order of `classes_`."""
        labels: list[str] = self._fitted().task.labels
        order = np.argsort(self._label_type().restore(labels), kind="stable")
        return [labels[place] for place in order]

    def _label_type(self) -> LabelType:
        return LabelType.from_data(self._fitted().facts["task"].get("label_type"))

    def _classified(self, X: Texts) -> list[Classified]:
        trained = self._fitted()
        if trained.task.several:
            raise ArgumentError(
                "this classifier gives several labels per text; call trained_.label(X)"
            )
        texts = _read_texts(X)
        found = []
        for number, one in enumerate(trained.classify_lines(texts)):
            if one is None:
                raise ArgumentError(f"X[{number}] is an empty text; leave it out")
            found.append(one)
        return found

    def _examples(self, X: Texts, y: Sequence[Any]) -> list[Example]:
        for number, label in enumerate(y):
            if isinstance(label, list | tuple | set | frozenset):
                raise ArgumentError(
                    f"Unknown label type: y[{number}] has several labels; give one per text. "
                    "For several, train on a file: elman train classifier --data FILE.jsonl"
                )
        examples = [
            Example(given, label)
            for given, label in zip(_read_texts(X), Labels.read(y).texts, strict=True)
        ]
        for number, example in enumerate(examples):
            if not all(text.strip() for text in example.texts):
                raise ArgumentError(f"X[{number}] is an empty text; leave it and its label out")
        return examples

    def _given(self, validation: Any) -> tuple[Any, ...]:
        return check_validation(validation, (self.inputs, self.answers, "weights"))

    def _weighted(self, X: Any, y: Any, sample_weight: Any = None) -> list[Example]:
        """The examples with their weights, without those of weight 0."""
        examples = self._paired(X, y)
        if sample_weight is None:
            return examples
        weights = _read_weights(sample_weight, len(examples))
        pairs = zip(examples, weights, strict=True)
        found = [replace(example, weight=weight) for example, weight in pairs if weight > 0]
        if not found:
            raise ArgumentError("sample_weight is zero for every text; give some of them a weight")
        return found


def _read_texts(X: Texts) -> list[tuple[str, ...]]:
    """Texts, or pairs of texts."""
    found: list[tuple[str, ...]] = []
    for number, given in enumerate(check_list(X, "X", "texts")):
        if isinstance(given, str) or not isinstance(given, list | tuple | np.ndarray):
            check_text(given, f"X[{number}]")
            found.append((given,))
            continue
        for text in given:
            check_text(text, f"X[{number}]")
        refuse_characters(given, f"X[{number}]", "give the text as one string")
        if len(given) not in (1, 2):
            raise ArgumentError(
                f"X[{number}] is a list of {len(given)} texts; give a text or a pair of texts"
            )
        found.append(tuple(given))
    single = (text for texts in found for text in texts)
    refuse_characters(single, "X", "give a list of texts: [text], not list(text)")
    return found


def _read_weights(given: Any, count: int) -> list[float]:
    given = check_list(given, "sample_weight", "numbers")
    if getattr(given, "ndim", 1) != 1:
        raise ArgumentError("sample_weight has several dimensions; give one number for each text")
    if len(given) != count:
        raise ArgumentError(f"{count:,} texts have {len(given):,} weights; give one for each")
    try:
        return [read_weight(one, f"sample_weight[{n}]") for n, one in enumerate(given)]
    except InputError as error:
        raise ArgumentError(str(error)) from None
