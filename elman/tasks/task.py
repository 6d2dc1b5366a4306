"""The base class of tasks, and the one path for all of them: train, resume, load, plan.

A task turns data into examples, examples into batches and a model, and decides what a run folder
stores. `train`, `resume`, `load` and `plan` never ask for the kind of model: they look up the task
of a recipe or a run in `TASKS` and call its methods. Tasks that learn by gradients are in
`gradient_task.py`; counting is in `language_modelling/counting.py` and needs no torch.

Called by the public API, the commands, the studio and the experiments.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

from typing_extensions import TypeVar  # with a default

from elman.config import apply_overrides
from elman.counts.resources import Resources
from elman.errors import InputError
from elman.evaluation.measures import MeasureTable
from elman.notebooks import Table, Tabular
from elman.recipes import RunConfig, load_recipe
from elman.runs.claim import refuse_existing
from elman.runs.folder import read_run
from elman.runs.lock import Lock, only_writer
from elman.tasks.places import find_place
from elman.tasks.pretrained import with_vector_size
from elman.tasks.recipe_choice import choose_recipe
from elman.tasks.saved_runs import (
    check_arrays,
    check_kind,
    kind_in,
    recorded_source,
    saved_run,
    task_of,
)
from elman.tasks.trained import Trained
from elman.text.corpora import Corpus, open_corpus
from elman.training.budget import Allowance, Budget
from elman.training.machine import Machine

Told = Callable[[str], None]  # receives the name of the current step
Kind = TypeVar("Kind", bound=Trained, default=Trained)
_PARTS = ("config.json", "tokenizer.json", "vocabulary.json", "facts.json", "weights.safetensors")


@dataclass(frozen=True)
class Plan(Tabular):
    """The cost of a training on this machine."""

    recipe: str
    data: str
    parameters: int
    tokens: int  # of the training text
    vocabulary_size: int | None  # None for a model that predicts no words
    epochs: float
    steps: int
    multiplications: int  # multiply-adds per token, forward
    teraflop: float  # of the whole training
    validation_teraflop: float  # of its validations, not counted in it
    tokens_per_second: float  # as measured
    gigaflops: float  # per second, as measured
    memory_gigabytes: float | None  # peak memory; None if the system does not report it
    disk_megabytes: float  # of the run folder
    seconds: float  # of the whole training, validations included
    threads: int
    reading_seconds: float = 0.0  # before the training: to read and tokenize the data
    notes: list[str] = field(default_factory=list)  # on the data
    settings: list[str] = field(default_factory=list)  # chosen for a budget
    unit: str = "tokens"  # what `tokens` counts: also words, texts, questions
    engine: str = ""  # that counts, for a count model
    work_megabytes: float = 0.0  # of disk while counting

    def as_table(self) -> Table:
        """One row per figure; those that this model lacks are left out."""
        figures = [[name, value] for name, value in vars(self).items() if value not in (None, "")]
        return Table(["plan", "value"], [row for row in figures if not isinstance(row[1], list)])


@dataclass
class Lesson:
    """The inputs of a training."""

    task: Any  # a Task with its vocabulary
    train: Any  # training examples
    valid: Any  # validation examples, or None
    facts: Callable[[], dict[str, Any]]  # about data and task, for facts.json
    warnings: list[str] = field(default_factory=list)  # possible problems in the data
    notes: list[str] = field(default_factory=list)  # about the start of the training


class Task(ABC):
    """Turns data into a trained model and its run folder."""

    unit: ClassVar[str]  # the name of examples, as in "3,394 sentences"
    judged: ClassVar[str] = "tokens"  # the unit that a validation counts
    recipe: ClassVar[str]  # the name of a recipe for it
    part: ClassVar[str]  # the file of a run folder with everything learned besides weights
    trained_class: ClassVar[type[Trained]] = Trained
    by_counting: ClassVar[bool] = False  # whether it is trained by counting
    maps_arrays: ClassVar[bool] = False  # whether large arrays stay on disk until they are used

    def __init__(self, config: RunConfig) -> None:
        self.config = config

    # Data -----------------------------------------------------------------------------------------

    @classmethod
    def open(cls, data: str, config: RunConfig) -> Corpus:
        """Open the documents of a path or a built-in corpus."""
        return open_corpus(data)

    @classmethod
    def open_again(cls, data: str, config: RunConfig) -> Corpus:
        """Open the documents again for a resumed training."""
        return cls.open(data, config)

    @classmethod
    def opened(cls, data: str | Corpus, config: RunConfig) -> Corpus:
        """The corpus itself, or the documents of a path or a built-in corpus."""
        return data if isinstance(data, Corpus) else cls.open(data, config)

    @classmethod
    @abstractmethod
    def prepare(
        cls, corpus: Corpus, config: RunConfig, told: Told, known: Self | None = None
    ) -> Lesson:
        """Read a corpus and learn its vocabulary, unless `known` has one already."""

    @classmethod
    @abstractmethod
    def is_same_text(cls, corpus: Corpus, facts: dict[str, Any]) -> bool:
        """Whether a corpus is the one that a run with these facts was trained on."""

    # Run folders ----------------------------------------------------------------------------------

    @abstractmethod
    def kept(self) -> dict[str, Any]:
        """The data that a run folder stores of this task, as plain data."""

    @classmethod
    @abstractmethod
    def restored(cls, data: dict[str, Any], config: RunConfig) -> Self:
        """Restore the task from the data in a run folder."""

    @abstractmethod
    def restore_model(self, arrays: dict[str, Any], facts: dict[str, Any]) -> Any:
        """Restore the model from the arrays in a run folder."""

    @classmethod
    def check_arrays(
        cls, name: str, file: Path, config: RunConfig, contents: dict[str, Any]
    ) -> None:
        """Refuse arrays that do not fit the model, before they are in memory."""
        return  # counts have no fixed shapes

    # Training -------------------------------------------------------------------------------------

    @abstractmethod
    def training_lines(self, facts: dict[str, Any]) -> list[str | MeasureTable]:
        """Describe a training by the facts of its run."""

    @classmethod
    def settings_from(cls, before: Trained, config: RunConfig) -> dict[str, Any] | None:
        """Sections of settings that fit a run to start from; None if the recipe has them."""
        return None

    @classmethod
    @abstractmethod
    def fit(cls, config: RunConfig, data: str | Corpus, order: Order) -> Trained:
        """Train from the start."""

    @classmethod
    @abstractmethod
    def go_on(
        cls, path: Path, contents: dict[str, Any], data: str, order: Order, lock: Lock | None
    ) -> Trained:
        """Continue training from the checkpoint in a run folder."""

    @classmethod
    @abstractmethod
    def plan(cls, config: RunConfig, data: str, order: Order) -> Plan:
        """Estimate the cost of a training."""


@dataclass(frozen=True)
class Order:
    """How to train: machine, progress, run folder, initial weights."""

    machine: Machine = field(default_factory=Machine)
    told: Told = lambda what: None
    out: Path | None = None
    overwrite: bool = False
    before: Trained | None = None  # a run to start from
    overrides: tuple[str, ...] = ()  # settings that extend a finished run
    allowance: Allowance | None = None  # the budget
    started: float = field(default_factory=time.monotonic)  # when the command began
    share: float = 1.0  # of the data, if only a sample of it is planned
    counts: tuple[Path, ...] = ()  # folders of counts, instead of data


def train(
    recipe: str | None = None,
    *,
    data: str | None = None,
    out: str | Path | None = None,
    overrides: Iterable[str] = (),
    seed: int | None = None,
    overwrite: bool = False,
    start_from: str | Path | None = None,
    budget: str | None = None,
    counts: Iterable[str | Path] = (),
    machine: Machine | None = None,
    progress: Told = lambda what: None,
    kind: type[Kind] = Trained,  # type: ignore[assignment]  # the default of `Kind`
) -> Kind:
    """Train the model of a recipe on a file, a folder or a built-in corpus.

    `overrides` are settings such as "model.order=3". With `out`, the run is saved there; neural
    training also writes checkpoints, from which `resume` continues. `start_from` is a run whose
    vocabulary and weights the model starts from (fine-tuning). `kind` is the expected class of the
    result, for type checkers; a different one is refused.

    `budget` is a time like "10m" or a number of operations like "70teraflop". Width, epochs and
    output layer are then chosen so that the training ends in time. The default recipe is "ngram",
    or, with a budget, the one that fits the data.

    `counts` are folders that `elman counts` wrote; an n-gram model is trained on them instead of
    data.
    """
    folders = tuple(map(Path, counts))
    if data is None and not folders:
        raise InputError("data is missing; give a file, a folder or the name of a corpus")
    if data is not None:
        _check_place(data)
        if folders:
            raise InputError("give either data or counts, not both")
    started, overrides = time.monotonic(), with_vector_size(overrides)
    allowance = allow(budget, overrides, started)
    if recipe is None:
        recipe = "ngram" if allowance is None else _recipe_for(str(data), allowance, overrides)
    config = load_recipe(recipe, overrides, seed)
    machine = machine or Machine()
    place = None if out is None else Path(out)
    if place is not None and machine.processes.rank == 0:
        refuse_existing(place, overwrite)  # before the work, not after it
    task = task_of(config.kind)
    check_kind(f"recipe {recipe}", config.kind, kind)
    _check_counting(task, recipe, machine, bool(folders))
    before = None if start_from is None else load(start_from)
    if before is not None and (settings := task.settings_from(before, config)) is not None:
        config = load_recipe(recipe, overrides, seed, begin_with=settings)
    order = Order(machine, progress, place, overwrite, before, allowance=allowance, started=started)
    trained: Any = task.fit(config, str(data), replace(order, counts=folders))
    return trained


def _check_place(data: object) -> None:
    """Refuse texts in place of their path, which a caller in Python may give."""
    if not isinstance(data, str | PathLike):
        raise InputError(
            f"data is of type {type(data).__name__}, not a path; for texts in memory use "
            "elman.LanguageModel, Classifier, Tagger or Translator"
        )


def _recipe_for(data: str, allowance: Allowance, overrides: Iterable[str]) -> str:
    text = apply_overrides({}, overrides).get("text")
    columns = text.get("columns", {}) if isinstance(text, dict) else {}
    roles = [*columns] if isinstance(columns, dict) else []
    return choose_recipe(data, allowance.budget, roles)


def _check_counting(task: Any, recipe: str, machine: Machine, counts: bool) -> None:
    """Refuse options of count models for other ones."""
    if not task.by_counting and (counts or machine.counting != Resources()):
        raise InputError(
            f"{recipe}: is not a count model; leave out --counts, --engine, --memory and --master"
        )


def allow(budget: str | None, overrides: Iterable[str], started: float) -> Allowance | None:
    """The allowance of a budget like "10m"; settings of the user stay as they are."""
    if budget is None:
        return None
    fixed = frozenset(override.partition("=")[0].strip() for override in overrides)
    return Allowance(Budget.parse(budget), started, fixed)


def resume(
    path: str | Path,
    kind: type[Kind] = Trained,  # type: ignore[assignment]
    *,
    data: str | None = None,
    overrides: Iterable[str] = (),
    budget: str | None = None,
    machine: Machine | None = None,
    progress: Told = lambda what: None,
) -> Kind:
    """Continue a run where it stopped, bit for bit; give `data` if the text has moved.

    `overrides` like "training.epochs=20" train a finished run for longer. A run with a budget
    continues with the rest of it; a new `budget` lengthens any run.
    """
    path, started, overrides = Path(path), time.monotonic(), tuple(overrides)
    if overrides and budget is not None:
        raise InputError("--budget chooses training.epochs; leave out --budget or --set")
    order = Order(
        machine or Machine(),
        progress,
        path,
        overrides=overrides,
        allowance=allow(budget, (), started),
        started=started,
    )
    found = kind_in(read_run(path, ("config.json",)))  # refuses a folder without a run
    check_kind(str(path), found, kind)
    # The run folder is locked by the one process that writes to it.
    with nullcontext() if order.machine.processes.rank else only_writer(path) as lock:
        contents = read_run(path, check=check_arrays)
        if "training.json" not in contents:
            why = "counting has no steps" if task_of(found).by_counting else "no checkpoint"
            raise InputError(
                f"{path}: this run cannot be resumed ({why}); train another with: elman train"
            )
        trained: Any = task_of(found).go_on(path, contents, data or "", order, lock)
    return trained


def read_lesson(config: RunConfig, data: str, told: Told = lambda what: None) -> Lesson:
    """Read the inputs of a training with these settings."""
    task = task_of(config.kind)
    told("reading")
    return task.prepare(task.open(data, config), config, told)


def same_corpus(path: Path, saved: Trained, data: str) -> Corpus:
    """Open the text of a run; to resume bit for bit, training and validation must be the same."""
    task: Task = saved.task
    try:
        corpus = task.open_again(data or recorded_source(saved.facts), saved.config)
    except InputError as error:
        moved = "" if data else "; if the text has moved, give its new path with --data"
        raise InputError(f"{error}{moved}") from None
    if not task.is_same_text(corpus, saved.facts):
        raise InputError(
            f"{corpus.name}: this is not the text that {path} was trained on; give that text with "
            "--data, or fine-tune these weights with: elman train RECIPE --from"
        )
    return corpus


def load(
    path: str | Path,
    kind: type[Kind] = Trained,  # type: ignore[assignment]
    *,
    verify: bool = False,
) -> Kind:
    """Load a run folder with its best weights; every file is checked first.

    `kind` is the expected class, such as `TrainedTagger`; a different one is refused. A name like
    `hf:FOLDER` opens a Hugging Face model. N-gram tables of 32 MB or more stay on disk until they
    are used, and only their size and header are checked; `verify` reads them and compares their
    SHA-256 with the manifest.
    """
    if (place := find_place(path)) is not None:
        opened: Any = place[0](place[1])
        if not isinstance(opened, kind):
            raise InputError(f"{path}: is {opened.about}, not {kind.about}")
        return opened

    def check(name: str, file: Path, contents: dict[str, Any]) -> None:
        check_kind(str(path), kind_in(contents), kind)  # before weights are read
        check_arrays(name, file, contents)

    def maps(contents: dict[str, Any]) -> bool:
        return not verify and task_of(kind_in(contents)).maps_arrays

    trained: Any = saved_run(Path(path), read_run(Path(path), _PARTS, check, maps))
    return trained


def plan(
    recipe: str | None = None,
    *,
    data: str,
    overrides: Iterable[str] = (),
    seed: int | None = None,
    budget: str | None = None,
    machine: Machine | None = None,
    progress: Told = lambda what: None,
) -> Plan:
    """Estimate the cost of a training on this machine by measuring a few steps.

    With a `budget`, plan what `train` would choose for it.
    """
    _check_place(data)
    started, overrides = time.monotonic(), with_vector_size(overrides)
    allowance = allow(budget, overrides, started)
    if recipe is None and allowance is None:
        raise InputError("name a recipe, or give a budget, for which elman chooses one")
    from elman.tasks.large_data import enlarge, sampled  # which imports this module

    with sampled(str(data)) as (place, share):
        if recipe is None and allowance is not None:
            recipe = _recipe_for(place, allowance, overrides)
        config = load_recipe(recipe or "ngram", overrides, seed)
        machine = machine or Machine()
        _check_counting(task_of(config.kind), config.recipe, machine, False)
        order = Order(machine, progress, allowance=allowance, started=started, share=share)
        return enlarge(task_of(config.kind).plan(config, place, order), share, str(data))
