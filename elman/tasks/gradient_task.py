"""Tasks that learn by gradients: from examples to a trainer, a training and its run folder.

A task defines its batches and its model (`batches`, `fresh_model`); training, resuming, planning
and loading are the same for all. One or several processes train it (`torchrun`); the vocabulary of
the first process is used by all.
"""

import json
import math
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import torch
from torch import nn

from elman.batches.batch import Batches
from elman.errors import InputError
from elman.evaluation.measures import MeasureTable
from elman.models.weights import compare_shapes, outline
from elman.recipes import RunConfig, config_from_data
from elman.runs.lock import Lock
from elman.runs.parts import Shapes, part_shapes
from elman.tasks.budgeted import (
    Pace,
    budget_facts,
    compare_with_baseline,
    continue_pace,
    extend_within,
    kept_budget,
    pace_of,
)
from elman.tasks.extension import extend, refuse_nothing_left
from elman.tasks.planning import measure_plan
from elman.tasks.pretrained import Pretrained
from elman.tasks.saved_runs import require_facts, saved_run
from elman.tasks.sizing import Choice, choose_size, with_config
from elman.tasks.task import Lesson, Order, Plan, Task, Told, same_corpus
from elman.tasks.trained import Trained
from elman.tasks.training_run import TrainingRun
from elman.tasks.trivial import Trivial
from elman.text.corpora import Corpus
from elman.training.checkpoints import first_step_checked, read_state, restore
from elman.training.data_size import describe_fit, fit_batch_size, fit_schedule
from elman.training.machine import Machine
from elman.training.memory import refuse_too_large
from elman.training.probe import measure_speed
from elman.training.processes import Processes, refuse_other_count
from elman.training.trainer import Trainer, undisturbed

_AT_ONCE_SHARE = 0.15  # of a budget, for what is learned before the first step
_MEMORY_TIMES = 16  # of the weights: what optimizer, averages and a regime may remember at most
_MEMORY_BYTES = 100_000_000  # and beside that: random generators, carried states


class GradientTask(Task):
    """A task whose model is trained in steps."""

    needed_facts: tuple[str, ...]  # on the data of a training, told at its end
    weighs_classes = False  # whether it uses training.class_weights
    pretrained: Pretrained | None = None  # word vectors that a fresh model starts from

    # What a task says -----------------------------------------------------------------------------

    @abstractmethod
    def batches(self, examples: Any, batch_size: int, seed: int | None) -> Batches | None:
        """Batches for training, or for validation without a seed; None if that is impossible."""

    @abstractmethod
    def build(self, examples: Any = None) -> Any:
        """A fresh model; `examples` are those of training, where they matter."""

    def outline(self, examples: Any) -> nn.Module | None:
        """The shapes of the model, before anything is built; None if unavailable."""
        return outline(lambda: self.build(examples))

    @abstractmethod
    def saved_outline(self, shapes: Shapes, file: Path, facts: dict[str, Any]) -> nn.Module | None:
        """The shapes of the model in a run folder whose arrays have these shapes."""

    def fresh_model(self, examples: Any) -> Any:
        """A fresh model; later random numbers do not depend on its number of weights."""
        torch.manual_seed(self.config.seed)
        model = self.build(examples)
        torch.manual_seed(self.config.seed)
        return self.with_vectors(model)

    def with_vectors(self, model: Any) -> Any:
        """A fresh model that starts from pretrained word vectors, if the settings name some."""
        if (given := self.pretrained) is not None:
            model.start_from(given.numbers, given.vectors, given.further)
        return model

    @classmethod
    def known_from(cls, before: Trained, config: RunConfig) -> Self | None:
        """The task with the vocabulary of the run to start from; None to learn a new one."""
        if not isinstance(before.task, cls):
            return None
        return cls.restored(json.loads(json.dumps(before.task.kept())), config)

    def add_vocabulary(self, before: Trained) -> None:  # most have their own
        """Add the vocabulary of a run of another task to start from."""

    def take_over(self, before: Trained, model: Any, warn: Callable[[str], None]) -> list[str]:
        """Copy the weights of a run into a fresh model; return notes."""
        refuse_two_sources(before, self.config)
        try:
            model.load_arrays(before.model.arrays())
        except (ValueError, AttributeError) as error:
            raise InputError(
                f"--from {before.name}: its model differs from the model of this recipe ({error})"
            ) from None
        return []

    # Budgets and plans ----------------------------------------------------------------------------

    def of_whole(self, lesson: Lesson, share: float) -> Lesson:
        """The lesson of a sample with this share of the data, with the vocabulary of the whole."""
        return lesson

    def widest(self, tokens: int) -> float:
        """The largest useful width for so many training tokens, relative to the recipe's."""
        return 1.0

    def cheaper(self) -> dict[str, Any]:
        """Settings that cost less than the recipe's and fit this data, like "model.output"."""
        return {}

    def regularisation(self, config: RunConfig, epochs: float) -> dict[str, Any]:
        """Settings against overfitting, for so many epochs."""
        return {}

    def baseline(self, lesson: Lesson, seconds: float | None) -> float | None:
        """The validation perplexity of a model that takes at most so many seconds, if any."""
        return None

    # Training -------------------------------------------------------------------------------------

    def learn_at_once(self, model: Any, examples: Any, seconds: float, told: Told) -> None:
        """Learn what needs no training steps, before the first one, within so many seconds."""

    def remember(self, model: Any, batches: Sequence[Any]) -> None:  # most compute everything anew
        """Compute once what stays the same in every epoch of a training."""

    def calibrate(self, model: Any, valid: Any, facts: dict[str, Any]) -> dict[str, Any]:
        """Facts about the calibration of a trained model on validation; {} if there is none."""
        return {}

    def trivial(self, train: Any, valid: Any) -> Trivial | None:
        """An answer that needs no model, and its validation result; None if there is none."""
        return None

    def training_lines(self, facts: dict[str, Any]) -> list[str | MeasureTable]:
        training = facts["training"]
        early = ""
        if training.get("ended_early"):
            early = f"; early stopping, planned epochs {training['of_epochs']:g}"
        return [
            f"{facts['model']['parameters']:,} parameters; epochs {training['epochs']:g}, "
            f"steps {training['steps']:,}, {training['teraflop']:,.3g} teraflop{early}"
        ]

    @classmethod
    def fit(cls, config: RunConfig, data: str | Corpus, order: Order) -> Trained:
        machine = order.machine
        machine.processes.check(config.training.batch_size)
        if order.out is None and machine.tensorboard:
            raise InputError("tensorboard needs a run folder to write to; give --out")
        known = None if order.before is None else cls.known_from(order.before, config)
        order.told("reading")
        corpus = cls.opened(data, config)
        lesson = cls.prepare(corpus, config, order.told, known)
        if order.before is not None and known is None:
            lesson.task.add_vocabulary(order.before)
        if machine.processes.count > 1:
            said = _first_words(machine.processes, lesson)
            if machine.processes.rank:
                first = cls.restored(said, lesson.task.config)
                lesson = cls.prepare(corpus, lesson.task.config, order.told, first)
        if order.allowance is None:
            return fit_lesson(lesson, order)
        choice = _choose(lesson, order)
        return fit_lesson(with_config(lesson, choice.config, choice.validated), order, choice)

    @classmethod
    def go_on(
        cls, path: Path, contents: dict[str, Any], data: str, order: Order, lock: Lock | None
    ) -> Trained:
        saved = saved_run(path, contents)
        require_facts(path, saved.facts, *cls.needed_facts)
        state, machine = read_state(path, contents), order.machine
        refuse_other_count(machine.processes, state["processes"], path)
        if machine.threads is None:
            machine = replace(machine, threads=state["threads"])
        device = machine.prepare()
        order.told("reading")
        corpus = same_corpus(path, saved, data)
        task = copy(saved.task)
        if order.overrides:
            task.config = extend(path, saved.config, saved.facts, order.overrides)
        lesson = cls.prepare(corpus, task.config, order.told, task)
        kept = kept_budget(path, saved.facts)
        if kept is not None:
            lesson = with_config(lesson, task.config, kept.validated)
        trainer = build_trainer(lesson, device, machine.processes)
        restore(path, trainer, contents)
        if order.overrides:
            refuse_nothing_left(path, trainer)
            saved.facts["extended"] = [*saved.facts.get("extended", []), trainer.epochs_done]
        run = _training_run(trainer, lesson, saved.facts, machine, path)
        if order.allowance is not None:
            run.keep_pace(_extend(path, trainer, lesson, order), new=True)
        elif kept is not None:
            run.keep_pace(continue_pace(kept, trainer, order.started))
        with first_step_checked(path, trainer):
            run.train(records=state["history"], lock=lock, new_settings=bool(order.overrides))
        task.config = run.config
        return task.trained_class(task, trainer.model, run.facts, run.name)

    @classmethod
    def plan(cls, config: RunConfig, data: str, order: Order) -> Plan:
        device = order.machine.prepare()
        order.told("reading")
        started = time.monotonic()
        lesson = cls.prepare(cls.open(data, config), config, order.told)
        reading = time.monotonic() - started
        if order.share < 1:
            lesson = lesson.task.of_whole(lesson, order.share)
        notes = [*lesson.facts()["data"]["notes"], *lesson.warnings]
        settings: list[str] = []
        if order.allowance is not None:
            choice = _choose(lesson, order)
            lesson = with_config(lesson, choice.config, choice.validated)
            notes, settings = [*notes, *choice.notes], choice.settings
        trainer = build_trainer(lesson, device)
        order.told("measuring a few steps")
        found = measure_plan(lesson.task.config, data, trainer, [*notes, *lesson.notes])
        return replace(found, settings=settings, reading_seconds=reading)

    # Run folders ----------------------------------------------------------------------------------

    @classmethod
    def check_arrays(
        cls, name: str, file: Path, config: RunConfig, contents: dict[str, Any]
    ) -> None:
        task, shapes = cls.restored(contents[cls.part], config), part_shapes(file)
        model = task.saved_outline(shapes, file, contents["facts.json"])
        if model is None:
            return
        if name in ("weights.safetensors", "last.safetensors"):
            compare_shapes(model, shapes)
        else:
            _check_memory(model, shapes)


def refuse_two_sources(before: Trained, config: RunConfig) -> None:
    """Refuse word vectors from a run and from a file at once."""
    if getattr(config.model, "vectors", ""):
        raise InputError(
            f"--from {before.name} and model.vectors both give word vectors; leave out one"
        )


def fit_lesson(lesson: Lesson, order: Order, choice: Choice | None = None) -> Trained:
    """Train on a lesson that was already read; `choice`: of its settings, for a budget."""
    machine, task = order.machine, lesson.task
    device = machine.prepare()
    facts = {**lesson.facts(), "validation": None, "seconds": 0.0}

    def at_once(model: Any) -> None:
        task.learn_at_once(model, lesson.train, _at_once_seconds(order), order.told)

    trainer = build_trainer(
        lesson, device, machine.processes, order.before, machine.warn, at_once=at_once
    )
    facts["data"]["notes"] = [*facts["data"]["notes"], *lesson.warnings, *lesson.notes]
    for message in facts["data"]["notes"]:
        (machine.warn if message in lesson.warnings else machine.note)(message)
    run = _training_run(trainer, lesson, facts, machine, order.out)
    if choice is not None and order.allowance is not None:
        facts["budget"] = budget_facts(choice, order.allowance)
        facts["budget"]["ngram_perplexity"] = compare_with_baseline(lesson, order.allowance)
        run.keep_pace(pace_of(choice, order.allowance))
    run.start(order.overwrite)
    task.config = run.config
    trained: Trained = task.trained_class(task, trainer.model, run.facts, run.name)
    return trained


def _at_once_seconds(order: Order) -> float:
    """Seconds for what is learned before the first step."""
    budget = None if order.allowance is None else order.allowance.budget.seconds
    return math.inf if budget is None else _AT_ONCE_SHARE * budget


def _choose(lesson: Lesson, order: Order) -> Choice:
    """Choose settings for the budget, and say which."""
    allowance, machine = order.allowance, order.machine
    assert allowance is not None, "checked by the callers"
    device = machine.prepare()
    order.told("measuring a few steps")
    choice = choose_size(
        lesson,
        allowance,
        lambda part: build_trainer(part, device, probing=True),
        fixed_model=order.before is not None,
        share=order.share,
    )
    if machine.processes.count > 1:  # they may have measured different speeds
        data = json.loads(machine.processes.first_text(json.dumps(choice.config.to_data())))
        validated = round(machine.processes.first(choice.validated))
        choice = replace(choice, config=config_from_data(data), validated=validated)
    chosen = [f"recipe {choice.config.recipe}", *choice.settings]
    machine.note(f"budget {allowance.budget}: {', '.join(chosen)}")
    for message in choice.notes:
        machine.note(message)
    return choice


def _extend(path: Path, trainer: Trainer, lesson: Lesson, order: Order) -> Pace:
    """Lengthen a run by a new budget."""
    allowance, machine = order.allowance, order.machine
    assert allowance is not None, "checked by the caller"
    speed = None
    if allowance.budget.seconds is not None:
        order.told("measuring a few steps")
        with undisturbed():
            probe = build_trainer(lesson, trainer.device, probing=True)
            speed = measure_speed(probe, min(6.0, 0.04 * allowance.budget.seconds))
    pace = extend_within(path, trainer, allowance, speed)
    machine.note(f"budget {allowance.budget}: up to epoch {trainer.config.epochs:.3g}")
    return pace


def build_trainer(
    lesson: Lesson,
    device: torch.device,
    processes: Processes | None = None,
    before: Trained | None = None,
    warn: Callable[[str], None] = lambda message: None,
    *,
    probing: bool = False,
    at_once: Callable[[Any], None] | None = None,
) -> Trainer:
    """Build model and batches from the settings, with the weights of the run `before`, if any.

    Training, resuming and planning all use it, so a plan describes exactly the training.
    `probing`: only a few steps will be taken, too few to prepare anything for later epochs.
    `at_once`: learns what needs no training steps; None if all weights will be loaded.
    """
    processes, task = processes or Processes(), lesson.task
    training, seed = task.config.training, task.config.seed
    if training.class_weights and not task.weighs_classes:
        raise InputError(
            "training.class_weights: only a classifier has weights of labels; leave it out"
        )
    refuse_too_large(task.outline(lesson.train), training)
    model = task.fresh_model(lesson.train)
    if before is not None:
        lesson.notes += task.take_over(before, model, warn)
        torch.manual_seed(seed)  # as if nothing had been drawn for weights
    if at_once is not None:
        at_once(model)
    batches = task.batches(lesson.train, training.batch_size, seed)
    batch_size = fit_batch_size(training, batches, processes.count)
    if batch_size != training.batch_size:
        batches = task.batches(lesson.train, batch_size, seed)
    fitted = fit_schedule(replace(training, batch_size=batch_size), batches)
    lesson.notes += describe_fit(training, fitted)
    validation = None
    if lesson.valid is not None:
        validation = task.batches(lesson.valid, training.batch_size, None)
    model.to(device)
    if not probing:
        task.remember(model, [part for part in (batches, validation) if part is not None])
    processes.copy_first(model.state_dict().values())  # other machines may have drawn others
    processes.seed(seed)
    return Trainer(model, batches, fitted, validation, processes)


def _training_run(
    trainer: Trainer, lesson: Lesson, facts: dict[str, Any], machine: Machine, out: Path | None
) -> TrainingRun:
    task = lesson.task
    run = TrainingRun(trainer, task.config, {task.part: task.kept()}, facts, machine, out)
    if lesson.valid is not None:
        run.calibrate = lambda model: task.calibrate(model, lesson.valid, run.facts)
        run.trivial = lambda: task.trivial(lesson.train, lesson.valid)
    return run


def _first_words(processes: Processes, lesson: Lesson) -> dict[str, Any]:
    """Use the vocabulary of the first process, because sub-words differ slightly each time they
    are trained. The text must be the same everywhere.
    """
    said: dict[str, Any] = json.loads(processes.first_text(json.dumps(lesson.task.kept())))
    facts = lesson.facts()["data"]
    hashes = json.dumps(sorted(facts["sha256"].values()))
    (different,) = processes.largest(int(processes.first_text(hashes) != hashes))
    if different:
        raise InputError(
            f"{facts['name']}: the text differs between the {processes.count} processes; give all "
            "of them the same text"
        )
    return said


def _check_memory(model: nn.Module, shapes: Shapes) -> None:
    weights = sum(value.nbytes for value in model.state_dict().values())
    found = 8 * sum(math.prod(shape) for shape in shapes.values())
    if found > _MEMORY_TIMES * 2 * weights + _MEMORY_BYTES:
        raise ValueError(f"{found / 1e6:,.0f} MB of memory for {weights / 1e6:,.1f} MB of weights")
