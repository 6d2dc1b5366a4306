"""Estimators for scikit-learn: fit, predict, score; they work in its pipelines and searches.

    tagger = elman.Tagger(model__hidden_size=50, training__epochs=5)
    tagger.fit(sentences, tags).predict([["John", "lives", "in", "Rome"]])

Takes examples as lists or arrays, trains the model of a recipe, returns answers as arrays;
scikit-learn itself is not required. Settings are those of `--set`, with two underscores for the
dot: model__hidden_size=50. The trained model is `trained_`, with all methods of a loaded run.

The folder of a task contains its estimator. `SupervisedEstimator` is the base class for examples
with answers: subclasses define how lists become examples (`_examples`) and the answers (`predict`).
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from elman.errors import ArgumentError, argument_errors
from elman.recipes import SECTIONS, RunConfig, load_recipe
from elman.tasks.arguments import check_lengths, check_list, check_validation, not_fitted
from elman.tasks.pretrained import with_vector_size
from elman.tasks.saved_runs import check_kind, task_of
from elman.tasks.task import Order
from elman.tasks.task import load as load_run
from elman.tasks.trained import Trained
from elman.training.machine import Machine


class Estimator:
    """An estimator; `fit` trains it."""

    default_recipe: ClassVar[str]
    trained_class: ClassVar[type[Trained]]  # the class of its trained models
    needs_answers: ClassVar[bool] = True  # whether `fit` takes y
    _estimator_type: ClassVar[str | None] = None  # scikit-learn before 1.6 reads it
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
        self.recipe = recipe
        self.seed = seed
        self.threads = threads
        self.set_params(**settings)

    # Required by scikit-learn ---------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the estimator."""
        return {name: value for name, value in vars(self).items() if _is_parameter(name)}

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters for the next `fit`."""
        for name, value in parameters.items():
            if not _is_parameter(name):
                raise _unknown(name)
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        kinds = import_module("sklearn.utils")  # installed, because scikit-learn calls this method
        classifies = self._estimator_type == "classifier"
        return kinds.Tags(
            estimator_type=self._estimator_type,
            target_tags=kinds.TargetTags(required=self.needs_answers),
            input_tags=kinds.InputTags(two_d_array=False, string=True),
            classifier_tags=kinds.ClassifierTags() if classifies else None,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "trained_")

    def __repr__(self) -> str:
        parameters = self.get_params().items()
        given = [f"{name}={value!r}" for name, value in parameters if value != _DEFAULTS.get(name)]
        return f"{type(self).__name__}({', '.join(given)})"

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
        with argument_errors():
            estimator.trained_ = load_run(path, cls.trained_class)
        return estimator

    # For subclasses -------------------------------------------------------------------------------

    def _fitted(self) -> Any:
        if not hasattr(self, "trained_"):
            raise not_fitted(type(self).__name__)
        return self.trained_

    @argument_errors()
    def _config(self) -> RunConfig:
        """The settings of a training."""
        overrides = [
            f"{name.replace('__', '.')}={_as_toml(value)}"
            for name, value in self.get_params().items()
            if name not in _DEFAULTS
        ]
        recipe = self.default_recipe if self.recipe is None else self.recipe
        config = load_recipe(recipe, with_vector_size(overrides), self.seed)
        check_kind(f"recipe {config.recipe}", config.kind, self.trained_class)
        return config

    def _order(self) -> Order:
        return Order(Machine(threads=self.threads))


_DEFAULTS = {"recipe": None, "seed": 0, "threads": None}


def _is_parameter(name: str) -> bool:
    section, _, field = name.partition("__")
    return name in _DEFAULTS or (section in SECTIONS and bool(field))


def _unknown(name: str) -> ArgumentError:
    """The error for a name that is no parameter; `fit` checks the fields of the sections."""
    section, *field = name.split("__", 1)
    if close := get_close_matches(section, SECTIONS if any(field) else _DEFAULTS, n=1):
        return ArgumentError(
            f"unknown setting {name!r}; did you mean {'__'.join([*close, *field])!r}?"
        )
    return ArgumentError(
        f"unknown setting {name!r}; write section__field, like training__epochs=5; the sections "
        f"are {', '.join(SECTIONS)}"
    )


def _as_toml(value: Any) -> str:
    """A value as a setting is written; numbers of NumPy are numbers."""
    if isinstance(value, dict):
        pairs = [f"{json.dumps(str(name))} = {_as_toml(one)}" for name, one in value.items()]
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_as_toml, value))}]"
    value = value.item() if hasattr(value, "item") else value
    return json.dumps(value, default=str) if value is not None else "none"


class SupervisedEstimator(Estimator, ABC):
    """An estimator that learns from examples with answers."""

    inputs: ClassVar[str] = "texts"  # the items of X, for messages
    answers: ClassVar[str] = "answers"

    def fit(self, X: Sequence[Any], y: Sequence[Any], validation: Any = None) -> Self:
        """Train; `validation`: a pair of examples and answers. Default: a random tenth of X.

        A `DataWarning` before training reports labels that occur only in validation.
        """
        given = None if validation is None else self._given(validation)
        valid = None if given is None else self._paired(*given)
        return self._train(self._paired(X, y), valid)

    def _given(self, validation: Any) -> tuple[Any, ...]:
        """Examples and answers for validation."""
        return check_validation(validation, (self.inputs, self.answers))

    @argument_errors()
    def _train(self, train: list[Any], valid: list[Any] | None) -> Self:
        """Train on examples of the task."""
        from elman.tasks.gradient_task import fit_lesson  # imports torch; counting does not need it

        config = self._config()
        task: Any = task_of(config.kind)
        if valid is None:
            train, valid = task.splitter(config).hold_out(train)
        source: dict[str, Any] = {"name": "examples", "sha256": {}, "notes": []}
        lesson = task.lesson_of(train, valid, source, config)
        self.trained_ = fit_lesson(lesson, self._order())
        return self

    def score(self, X: Sequence[Any], y: Sequence[Any]) -> float:
        """Accuracy."""
        return float(self.measure(X, y).to_data()["accuracy"])

    @argument_errors()
    def measure(self, X: Sequence[Any], y: Sequence[Any]) -> Any:
        """All measures of the task."""
        return self._fitted().measure(self._paired(X, y))

    @abstractmethod
    def predict(self, X: Sequence[Any]) -> np.ndarray:
        """Predict an answer for each example."""

    @abstractmethod
    def _examples(self, X: Sequence[Any], y: Sequence[Any]) -> list[Any]:
        """Make the examples of the task; X and y have the same length."""

    def _paired(self, X: Any, y: Any) -> list[Any]:
        if y is None:
            raise ArgumentError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        X, y = check_list(X, "X", self.inputs), check_list(y, "y", self.answers)
        check_lengths(X, y, self.inputs, self.answers)
        return self._examples(X, y)
