"""Estimators for scikit-learn: fit, predict, score; they work in its pipelines and searches.

    tagger = elman.Tagger(model__hidden_size=50, training__epochs=5)
    tagger.fit(sentences, tags).predict([["John", "lives", "in", "Rome"]])

Takes examples as lists, trains the model of a recipe, returns answers as lists; scikit-learn itself
is not required. Settings are those of `--set`, with two underscores for the dot:
model__hidden_size=50. The trained model is `trained_`, with all methods of a loaded run. Each
estimator defines how lists become examples (`_examples`) and its answers (`predict`).
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Self

from elman.errors import InputError
from elman.recipes import RunConfig, load_recipe
from elman.tasks.classification.reader import Example
from elman.tasks.classification.trained import Classified, TrainedClassifier
from elman.tasks.gradient_task import fit_lesson
from elman.tasks.saved_runs import check_kind, task_of
from elman.tasks.tagging.reader import TaggedSentence, Word
from elman.tasks.tagging.task import TrainedTagger, refuse_features, refuse_lengths
from elman.tasks.task import Order
from elman.tasks.trained import Trained
from elman.text.tag_schemes import check_scheme
from elman.training.machine import Machine


class Estimator(ABC):
    """An estimator; `fit` trains it."""

    recipe: str  # of the kind, unless another is given
    trained_class: type[Trained]  # of what it trains

    def __init__(
        self,
        recipe: str | None = None,
        *,
        seed: int = 0,
        threads: int | None = None,
        **settings: Any,
    ) -> None:
        """A recipe by name or path, and settings like training__epochs=5."""
        self._parameters: dict[str, Any] = {
            "recipe": self.recipe if recipe is None else recipe,
            "seed": seed,
            "threads": threads,
        }
        self._settings: dict[str, Any] = {}
        self.set_params(**settings)

    # As scikit-learn asks -------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the estimator."""
        return {**self._parameters, **self._settings}

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters for the next `fit`."""
        for name, value in parameters.items():
            if name in self._parameters:
                self._parameters[name] = value
            elif "__" in name:
                self._settings[name] = value
            else:
                raise InputError(
                    f"unknown setting {name!r}; write section__field, like training__epochs=5"
                )
        return self

    def __sklearn_tags__(self) -> Any:
        kinds = import_module("sklearn.utils")  # installed, because scikit-learn calls this method
        return kinds.Tags(
            estimator_type=None,
            target_tags=kinds.TargetTags(required=True),
            input_tags=kinds.InputTags(two_d_array=False, string=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "trained_")

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({given})"

    # Work -----------------------------------------------------------------------------------------

    def fit(self, X: Sequence[Any], y: Sequence[Any], validation: Any = None) -> Self:
        """Train; `validation`: a pair of examples and answers. Default: a random tenth of X.

        A `DataWarning` before training reports labels that occur only in validation.
        """
        config = self._config()
        task: Any = task_of(config.kind)
        train = self._paired(X, y)
        if validation is None:
            train, valid = task.splitter(config).hold_out(train)
        else:
            valid = self._paired(*validation)
        source: dict[str, Any] = {"name": "examples", "sha256": {}, "notes": []}
        machine = Machine(threads=self._parameters["threads"])
        lesson = task.lesson_of(train, valid, source, config)
        self.trained_ = fit_lesson(lesson, Order(machine))
        return self

    def score(self, X: Sequence[Any], y: Sequence[Any]) -> float:
        """Accuracy."""
        return float(self.measure(X, y).to_data()["accuracy"])

    def measure(self, X: Sequence[Any], y: Sequence[Any]) -> Any:
        """All measures of the task."""
        return self._fitted().measure(self._paired(X, y))

    @abstractmethod
    def predict(self, X: Sequence[Any]) -> list[Any]:
        """Predict an answer for each example."""

    @abstractmethod
    def _examples(self, X: Sequence[Any], y: Sequence[Any]) -> list[Any]:
        """Make the examples of the task; X and y have the same length."""

    def _paired(self, X: Sequence[Any], y: Sequence[Any]) -> list[Any]:
        if len(X) != len(y):
            raise InputError(f"{len(X):,} examples have {len(y):,} answers; give one for each")
        if not len(X):
            raise InputError("there are no examples; give some")
        return self._examples(X, y)

    def _fitted(self) -> Any:
        if not hasattr(self, "trained_"):
            raise InputError(f"this {type(self).__name__} is not trained yet; call fit first")
        return self.trained_

    def _config(self) -> RunConfig:
        """The settings of a training; values are written as JSON, which TOML can read."""
        overrides = [
            f"{name.replace('__', '.')}={json.dumps(value)}"
            for name, value in self._settings.items()
        ]
        given = self._parameters
        config = load_recipe(given["recipe"], overrides, given["seed"])
        check_kind(f"recipe {config.recipe}", config.kind, self.trained_class)
        return config


class Tagger(Estimator):
    """Tag words: X contains sentences as lists of words, y the tags of each sentence.

    With text__features, a word is a tuple of itself and its features: ("Rome", "NNP").
    """

    recipe = "tagger"
    trained_class = TrainedTagger
    trained_: TrainedTagger

    def predict(self, X: Sequence[Sequence[Word]]) -> list[list[str]]:
        tagged: list[list[str]] = self._fitted().tag(X)
        return tagged

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


class Classifier(Estimator):
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
        found = self._fitted().classify_lines(X)
        for number, one in enumerate(found):
            if one is None:
                raise InputError(f"X[{number}] is an empty text; leave it out")
        return list(found)

    @property
    def classes_(self) -> list[str]:
        """The labels."""
        return list(self._fitted().task.labels)

    def _examples(self, X: Sequence[str | Sequence[str]], y: Sequence[str]) -> list[Example]:
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
