"""Estimators for scikit-learn: fit, predict, score; they work in its pipelines and searches.

    tagger = elman.Tagger(model__hidden_size=50, training__epochs=5)
    tagger.fit(sentences, tags).predict([["John", "lives", "in", "Rome"]])

Takes examples as lists, trains the model of a recipe, returns answers as lists; scikit-learn itself
is not required. Settings are those of `--set`, with two underscores for the dot:
model__hidden_size=50. The trained model is `trained_`, with all methods of a loaded run.

The folder of a task contains its estimator. `SupervisedEstimator` is the base class for examples
with answers: subclasses define how lists become examples (`_examples`) and the answers (`predict`).
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self

from elman.errors import InputError
from elman.recipes import RunConfig, load_recipe
from elman.tasks.pretrained import with_vector_size
from elman.tasks.saved_runs import check_kind, task_of
from elman.tasks.task import Order
from elman.tasks.task import load as load_run
from elman.tasks.trained import Trained
from elman.training.machine import Machine


class Estimator:
    """An estimator; `fit` trains it."""

    recipe: ClassVar[str]  # the default recipe
    trained_class: ClassVar[type[Trained]]  # the class of its trained models
    needs_answers: ClassVar[bool] = True  # whether `fit` takes y
    trained_: Any  # the trained model, after `fit`

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

    # Required by scikit-learn ---------------------------------------------------------------------

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
            target_tags=kinds.TargetTags(required=self.needs_answers),
            input_tags=kinds.InputTags(two_d_array=False, string=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "trained_")

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({given})"

    # Run folders ----------------------------------------------------------------------------------

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Save the trained model as a run folder, which `elman.load` and all commands read."""
        self._fitted().save(path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | Path, **parameters: Any) -> Self:
        """Load a run folder as a trained estimator.

        `parameters` are those of the constructor. They matter only if you call `fit` again, which
        does not use the settings of the run.
        """
        estimator = cls(**parameters)
        estimator.trained_ = load_run(path, cls.trained_class)
        return estimator

    # For subclasses -------------------------------------------------------------------------------

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
        config = load_recipe(given["recipe"], with_vector_size(overrides), given["seed"])
        check_kind(f"recipe {config.recipe}", config.kind, self.trained_class)
        return config

    def _order(self) -> Order:
        return Order(Machine(threads=self._parameters["threads"]))


class SupervisedEstimator(Estimator, ABC):
    """An estimator that learns from examples with answers."""

    def fit(self, X: Sequence[Any], y: Sequence[Any], validation: Any = None) -> Self:
        """Train; `validation`: a pair of examples and answers. Default: a random tenth of X.

        A `DataWarning` before training reports labels that occur only in validation.
        """
        from elman.tasks.gradient_task import fit_lesson  # imports torch; counting does not need it

        config = self._config()
        task: Any = task_of(config.kind)
        train = self._paired(X, y)
        if validation is None:
            train, valid = task.splitter(config).hold_out(train)
        else:
            valid = self._paired(*validation)
        source: dict[str, Any] = {"name": "examples", "sha256": {}, "notes": []}
        lesson = task.lesson_of(train, valid, source, config)
        self.trained_ = fit_lesson(lesson, self._order())
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
