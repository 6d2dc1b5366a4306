"""Choose the size and length of a training for a budget: width, epochs, output layer, validations.

Takes a lesson (data with a vocabulary) and an allowance, gives a `Choice`: new settings and what
was measured. Called by `gradient_task.py`.

The recipe, trained for its epochs on this data but on at most seven tokens per multiplication of
its model, is the reference: the recipes `quick` and `hour` have eight and five. For a budget of r
times its operations, parameters and tokens both grow with √r, as in Hoffmann et al. (2022): the
width with r^¼, the epochs with √r. Both have limits that the data sets: many more epochs than the
recipe's only teach the training data by heart, and so do wide layers on short texts. What is left
of the budget then stays unused.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from elman.batches import Batches
from elman.config import apply_overrides
from elman.errors import InputError
from elman.recipes import RunConfig, config_from_data
from elman.tasks.task import Lesson
from elman.training.budget import Allowance
from elman.training.data_size import fit_batch_size, fit_schedule
from elman.training.probe import Speed, measure_speed
from elman.training.settings import TrainingConfig
from elman.training.trainer import Trainer

FACTORS = (0.25, 0.35, 0.5, 0.65, 0.8, 1.0, 1.25, 1.6, 2.0, 2.5)  # of the width of the recipe
_WIDTHS = ("hidden_size", "embedding_size")
_MULTIPLE = 8  # of widths, for fast products
_TOKENS_PER_PRODUCT = 7  # of the reference training, at most
_EPOCHS_TIMES = 2.0  # the most epochs, relative to those of the recipe
_FEWEST_STEPS = 3000  # that little data may be trained for, whatever its number of epochs
_PROBE_SHARE, _PROBE_SECONDS = 0.04, 6.0  # of the budget, for one measurement; at most
_VALIDATION_SHARE = 0.1  # of the budget, for all validations
_CALIBRATION_TIMES = 2.0  # as long as a validation: the scores before and after a mix
_VALIDATIONS = 10  # of a training; more if the recipe validates more often, and time allows
_PATIENCE = 5  # validations without a gain, unless there are fewer validations than above
_TIMED = ("linear", "cosine", "one-cycle")  # schedules that end with the training
_FEWEST_VALIDATED = 20  # examples of a shortened validation


@dataclass
class Choice:
    """Settings for a budget, and how long their parts take."""

    config: RunConfig
    settings: list[str]  # that differ from the recipe: "model.hidden_size=112"
    most_epochs: float  # that the data can use
    validated: int  # examples or tokens of validation
    validation_seconds: float = 0.0  # of one validation
    ending_seconds: float = 0.0  # after the last one
    notes: list[str] = field(default_factory=list)


def choose_size(
    lesson: Lesson,
    allowance: Allowance,
    build: Callable[[Lesson], Trainer],
    *,
    fixed_model: bool = False,
    share: float = 1.0,
) -> Choice:
    """Choose settings for the lesson; `build` makes trainers to measure, `fixed_model`: choose only
    the length, as for fine-tuning, `share`: of the data that the lesson is a sample of.
    """
    return _Sizing(lesson, allowance, build, fixed_model, share).choose()


def with_config(lesson: Lesson, config: RunConfig, validated: int | None = None) -> Lesson:
    """The lesson with other settings of model and training, and a shorter validation."""
    task = copy.copy(lesson.task)
    task.config = config
    valid = lesson.valid if validated is None or lesson.valid is None else lesson.valid[:validated]
    return replace(lesson, task=task, valid=valid, notes=[*lesson.notes])


class _Sizing:
    """One choice; every method works with the lesson and the allowance."""

    def __init__(
        self,
        lesson: Lesson,
        allowance: Allowance,
        build: Callable[[Lesson], Trainer],
        fixed_model: bool,
        share: float,
    ) -> None:
        if "training.epochs" in allowance.fixed:
            raise InputError("--budget chooses training.epochs; leave out one of the two")
        self.lesson = lesson
        self.allowance = allowance
        self.build = build
        self.fixed_model = fixed_model
        self.budget = allowance.budget
        self.recipe: RunConfig = lesson.task.config
        # The minimum of steps has had its say in the reference; the budget decides from here on.
        self.base = self._changed(self.recipe, {**self._cheaper(), "training.min_steps": 0})
        training, batches = self._fitted()
        self.reference_epochs = training.epochs
        self.reference_interval = training.validate_every
        self.share = share
        self.tokens = round(batches.tokens_per_epoch / share)
        per_step = training.batch_size * training.window
        steps = batches.steps_per_epoch or batches.tokens_per_epoch / per_step
        self.steps = steps / share
        self.most_epochs = max(_EPOCHS_TIMES * training.epochs, _FEWEST_STEPS / self.steps)
        self.notes: list[str] = []
        self._parameters = 0  # of the model that was outlined last

    def _fitted(self) -> tuple[TrainingConfig, Batches]:
        """The training of the recipe as it would be for this data, and its batches."""
        stated, task = self.recipe.training, self.lesson.task
        batches = task.batches(self.lesson.train, stated.batch_size, 0)
        size = fit_batch_size(stated, batches)
        if size != stated.batch_size:
            batches = task.batches(self.lesson.train, size, 0)
        return fit_schedule(replace(stated, batch_size=size), batches), batches

    def choose(self) -> Choice:
        products = self._multiplications(self.base)
        enough = _TOKENS_PER_PRODUCT * products / self.tokens
        reference = min(self.reference_epochs, enough)
        if self.budget.teraflop is not None:
            affordable = self.budget.teraflop * 1e12
            config = self._scaled(affordable / self._operations(self.base, reference))
            epochs = affordable / self._operations(config, 1.0)
            return self._finish(config, epochs, None)
        speed = self._measure(self.base)
        per_second = speed.tokens_per_second / self.tokens  # epochs
        config = self._scaled(per_second * self._training_seconds() / reference)
        if config is not self.base:
            speed = self._measure(config)
        if message := speed.note():
            self.notes.append(message)
        per_second = speed.tokens_per_second / self.tokens
        return self._finish(config, per_second * self._training_seconds(), speed)

    # Width ----------------------------------------------------------------------------------------

    def _scaled(self, ratio: float) -> RunConfig:
        """The settings with the width for so many times the operations of the reference."""
        widest = self.lesson.task.widest(self.tokens)
        wished = min(ratio**0.25, widest)
        factor = max([f for f in FACTORS if f <= 1.05 * wished], default=FACTORS[0])
        return self.base if factor == 1 else self._changed(self.base, self._widths(factor))

    def _widths(self, factor: float) -> dict[str, Any]:
        """The sizes of the layers, multiplied, unless the user or another setting fixes them."""
        model = self.recipe.model
        names = {f"model.{name}" for name in _WIDTHS}
        sized = bool(getattr(model, "parameters", False))  # by the number of its parameters
        if self.fixed_model or sized or self.allowance.fixed & names:
            return {}
        sizes = {name: getattr(model, name) for name in _WIDTHS if hasattr(model, name)}
        return {f"model.{name}": _multiplied(size, factor) for name, size in sizes.items()}

    def _cheaper(self) -> dict[str, Any]:
        """Settings for this data that cost less than those of the recipe, like its output.

        They belong together (an output and its options), so none is used if the user set one.
        """
        changes = {} if self.fixed_model else self.lesson.task.cheaper()
        by_user = {".".join(name.split(".")[:2]) for name in self.allowance.fixed}
        return {} if by_user & changes.keys() else changes

    # Length ---------------------------------------------------------------------------------------

    def _training_seconds(self) -> float:
        """Seconds for training alone."""
        seconds = self.budget.seconds or 0.0
        ending = self.budget.ending_seconds(self._parameters)
        kept_back = _VALIDATION_SHARE * seconds + ending
        return max(self.allowance.left - kept_back, 0.1)

    def _finish(self, config: RunConfig, epochs: float, speed: Speed | None) -> Choice:
        """The complete settings for so many epochs."""
        valid = self.lesson.valid
        validated = 0 if valid is None else len(valid)
        epochs = min(_rounded(epochs), self.most_epochs)
        once, times = 0.0, self._most_validations(epochs)
        if speed is not None and self.lesson.valid is not None:
            once = self._validation_tokens(config) / speed.validation_speed / self.share
            allowed = _VALIDATION_SHARE * (self.budget.seconds or 0.0)
            if once > allowed:
                validated = max(min(_FEWEST_VALIDATED, validated), int(validated * allowed / once))
                self.notes.append(
                    f"validation uses the first {validated:,} of {len(self.lesson.valid):,} "
                    f"{self.lesson.task.unit}, to stay within a tenth of the budget"
                )
                once = allowed
            times = max(1.0, min(times, allowed // max(once, 1e-9)))
        changes = {"training.epochs": epochs, **self._schedule(times, epochs)}
        changes |= self.lesson.task.regularisation(config, epochs) if not self.fixed_model else {}
        kept = {name: value for name, value in changes.items() if name not in self.allowance.fixed}
        config = self._changed(config, kept)
        return Choice(
            config=config,
            settings=_differences(self.recipe, config),
            most_epochs=self.most_epochs,
            validated=validated,
            validation_seconds=once,
            ending_seconds=self.budget.ending_seconds(self._parameters, self._calibration(once)),
            notes=self.notes,
        )

    def _calibration(self, once: float) -> float:
        """Seconds to calibrate the model, from those of one validation."""
        calibrates = self.lesson.task.trained_class.calibrates
        return _CALIBRATION_TIMES * once if calibrates else 0.0

    def _most_validations(self, epochs: float) -> float:
        """As many as the recipe has in these epochs, so that its patience means the same."""
        return max(float(_VALIDATIONS), epochs // self.reference_interval)

    def _schedule(self, times: float, epochs: float) -> dict[str, Any]:
        """When to validate, and a learning rate that falls to the end of the training."""
        training = self.recipe.training
        # A single validation comes at the end, even if the training gets longer than planned.
        every = epochs / times if times > 1 else _EPOCHS_TIMES * self.most_epochs
        changes: dict[str, Any] = {"training.validate_every": _rounded(every)}
        if times >= _VALIDATIONS:
            changes["training.patience"] = training.patience or _PATIENCE
        else:
            changes["training.patience"] = 0  # too few validations to judge by
        if training.schedule not in _TIMED and "training.schedule" not in self.allowance.fixed:
            changes |= {"training.schedule": "linear", "training.hold": 0.5}
        return changes

    # Measurements ---------------------------------------------------------------------------------

    def _operations(self, config: RunConfig, epochs: float) -> float:
        """Operations of so many epochs: forward, and twice as many backward."""
        return 6.0 * self._multiplications(config) * self.tokens * epochs

    def _multiplications(self, config: RunConfig) -> int:
        """Multiply-adds per token."""
        lesson = with_config(self.lesson, config)
        model = lesson.task.outline(lesson.train)
        if model is None:
            model = lesson.task.fresh_model(lesson.train)
        self._parameters = model.count_parameters()
        found: int = model.multiplications(round(self.tokens / self.steps))
        return found

    def _measure(self, config: RunConfig) -> Speed:
        seconds = min(_PROBE_SECONDS, _PROBE_SHARE * (self.budget.seconds or 0.0))
        return measure_speed(self.build(with_config(self.lesson, config)), seconds)

    def _validation_tokens(self, config: RunConfig) -> int:
        lesson = with_config(self.lesson, config)
        batches = lesson.task.batches(lesson.valid, config.training.batch_size, None)
        return 0 if batches is None else batches.tokens_per_epoch

    def _changed(self, config: RunConfig, changes: dict[str, Any]) -> RunConfig:
        if not changes:
            return config
        return config_from_data(_with(config.to_data(), changes))


def _with(data: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    tree = apply_overrides(data, ())
    for name, value in changes.items():
        section, _, key = name.partition(".")
        tree[section][key] = value
    return tree


def _differences(recipe: RunConfig, config: RunConfig) -> list[str]:
    """The settings of model and training that are not those of the recipe."""
    before, after = recipe.to_data(), config.to_data()
    return [
        f"{section}.{name}={_shown(value)}"
        for section in ("model", "training")
        for name, value in after[section].items()
        if value != before[section].get(name)
    ]


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_shown(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_shown, value)) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _multiplied(size: Any, factor: float) -> Any:
    if isinstance(size, tuple | list):
        return [_multiplied(one, factor) for one in size]
    return max(_MULTIPLE, _MULTIPLE * round(size * factor / _MULTIPLE))


def _rounded(value: float) -> float:
    """Three significant digits, rounded down, so that settings are readable."""
    if value <= 0:
        raise ValueError("a training has a positive length")
    digits = 10.0 ** (2 - math.floor(math.log10(value)))
    return math.floor(value * digits) / digits
