"""What a task is, and the one path that all of them go: train, resume, load, plan.

A task is the way from data to examples, from examples to batches and a model, and what of that a
run folder keeps. `train`, `resume`, `load` and `plan` never ask what kind of model they hold: they
find the task of a recipe or a run in `TASKS` and call its methods. Tasks that learn by gradients
are `gradient_task.py`; counting is `language_modelling/counting.py`, and needs no torch.

Called by the door, the commands, the studio and the experiments.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

from typing_extensions import TypeVar  # with a default

from elman.errors import InputError
from elman.evaluation.measures import MeasureTable
from elman.recipes import RunConfig, load_recipe
from elman.runs.claim import refuse_existing
from elman.runs.folder import read_run
from elman.runs.lock import Lock, only_writer
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
from elman.training.machine import Machine

Told = Callable[[str], None]  # what is being done now
Kind = TypeVar("Kind", bound=Trained, default=Trained)
_PARTS = ("config.json", "tokenizer.json", "vocabulary.json", "facts.json", "weights.safetensors")


@dataclass(frozen=True)
class Plan:
    """The cost of a training on this machine."""

    recipe: str
    data: str
    parameters: int
    tokens: int  # of the training text
    vocabulary_size: int | None  # None of a model that writes no words
    epochs: float
    steps: int
    multiplications: int  # multiply-adds per token, forward
    teraflop: float  # of the whole training
    validation_teraflop: float  # of its validations, not counted in it
    tokens_per_second: float  # as measured
    gigaflops: float  # per second, as measured
    memory_gigabytes: float | None  # the most that was in use; None where the system cannot say
    disk_megabytes: float  # of the run folder
    seconds: float  # of the whole training, validations included
    threads: int
    notes: list[str] = field(default_factory=list)  # on the data


@dataclass
class Lesson:
    """What a training begins with."""

    task: Any  # a Task that has learned its words
    train: Any  # examples to learn from
    valid: Any  # and to validate on; None: there are none
    facts: Callable[[], dict[str, Any]]  # on data and task, for facts.json
    warnings: list[str] = field(default_factory=list)  # on the data, where something may be wrong
    notes: list[str] = field(default_factory=list)  # on the beginning of the training


class Task(ABC):
    """The way from data to a trained model and its run folder."""

    unit: ClassVar[str]  # what examples are called, as in "3,394 sentences"
    judged: ClassVar[str] = "tokens"  # what a validation counts
    recipe: ClassVar[str]  # one that trains it
    part: ClassVar[str]  # the file of a run folder that keeps what it has learned besides weights
    trained_class: ClassVar[type[Trained]] = Trained

    def __init__(self, config: RunConfig) -> None:
        self.config = config

    # Data -----------------------------------------------------------------------------------------

    @classmethod
    def open(cls, data: str, config: RunConfig) -> Corpus:
        """The documents of a path or a name."""
        return open_corpus(data)

    @classmethod
    def open_again(cls, data: str, config: RunConfig) -> Corpus:
        """The same for a training that goes on."""
        return cls.open(data, config)

    @classmethod
    @abstractmethod
    def prepare(
        cls, corpus: Corpus, config: RunConfig, told: Told, known: Self | None = None
    ) -> Lesson:
        """Read a corpus and learn its words, unless a task is given that knows them."""

    @classmethod
    @abstractmethod
    def is_same_text(cls, corpus: Corpus, facts: dict[str, Any]) -> bool:
        """Whether a corpus is the one that a run with these facts was trained on."""

    # Run folders ----------------------------------------------------------------------------------

    @abstractmethod
    def kept(self) -> dict[str, Any]:
        """What a run folder keeps of it, as plain data."""

    @classmethod
    @abstractmethod
    def restored(cls, data: dict[str, Any], config: RunConfig) -> Self:
        """The task that a run folder keeps."""

    @abstractmethod
    def restore_model(self, arrays: dict[str, Any], facts: dict[str, Any]) -> Any:
        """The model that a run folder keeps."""

    @classmethod
    def check_arrays(
        cls, name: str, file: Path, config: RunConfig, contents: dict[str, Any]
    ) -> None:
        """Refuse arrays that are not those of the model, before they are in memory."""
        return  # counts are what they are

    # Training -------------------------------------------------------------------------------------

    @abstractmethod
    def training_lines(self, facts: dict[str, Any]) -> list[str | MeasureTable]:
        """Describe a training by the facts of its run."""

    @classmethod
    @abstractmethod
    def fit(cls, config: RunConfig, data: str, order: Order) -> Trained:
        """Train from the start."""

    @classmethod
    @abstractmethod
    def go_on(
        cls, path: Path, contents: dict[str, Any], data: str, order: Order, lock: Lock | None
    ) -> Trained:
        """Train on from the checkpoint in a run folder."""

    @classmethod
    @abstractmethod
    def plan(cls, config: RunConfig, data: str, order: Order) -> Plan:
        """What a training would cost."""


@dataclass(frozen=True)
class Order:
    """How a training is to be done, whatever is trained."""

    machine: Machine = field(default_factory=Machine)
    told: Told = lambda what: None
    out: Path | None = None
    overwrite: bool = False
    before: Trained | None = None  # a run to begin with
    overrides: tuple[str, ...] = ()  # settings of a finished run that is trained for longer


def train(
    recipe: str = "ngram",
    *,
    data: str,
    out: str | Path | None = None,
    overrides: Iterable[str] = (),
    seed: int | None = None,
    overwrite: bool = False,
    start_from: str | Path | None = None,
    machine: Machine | None = None,
    progress: Told = lambda what: None,
    kind: type[Kind] = Trained,  # type: ignore[assignment]  # the default of `Kind`
) -> Kind:
    """Train what a recipe describes on a file, a folder or a built-in corpus.

    `overrides` are words like "model.order=3". With `out`, the run is saved there; what is trained
    in steps also meanwhile, so that `resume` can go on. `start_from` is a run whose vocabulary and
    weights the model begins with (fine-tuning). `kind`: the class of what is wanted, for type
    checkers; another one is refused.
    """
    config = load_recipe(recipe, overrides, seed)
    machine = machine or Machine()
    place = None if out is None else Path(out)
    if place is not None and machine.processes.rank == 0:
        refuse_existing(place, overwrite)  # before the work, not after it
    task = task_of(config.kind)
    check_kind(f"recipe {recipe}", config.kind, kind)
    before = None if start_from is None else load(start_from)
    trained: Any = task.fit(config, str(data), Order(machine, progress, place, overwrite, before))
    return trained


def resume(
    path: str | Path,
    kind: type[Kind] = Trained,  # type: ignore[assignment]
    *,
    data: str | None = None,
    overrides: Iterable[str] = (),
    machine: Machine | None = None,
    progress: Told = lambda what: None,
) -> Kind:
    """Go on with a run where it stopped, bit for bit; `data` if the text has moved.

    `overrides` like "training.epochs=20" train a run for longer than it was meant to.
    """
    path = Path(path)
    order = Order(machine or Machine(), progress, path, overrides=tuple(overrides))
    found = kind_in(read_run(path, ("config.json",)))  # is refused if there is none
    check_kind(str(path), found, kind)
    # The run folder is locked by the one process that writes to it.
    with nullcontext() if order.machine.processes.rank else only_writer(path) as lock:
        contents = read_run(path, check=check_arrays)
        if "training.json" not in contents:
            raise InputError(f"{path}: is not a run in training; train one with: elman train")
        trained: Any = task_of(found).go_on(path, contents, data or "", order, lock)
    return trained


def read_lesson(config: RunConfig, data: str, told: Told = lambda what: None) -> Lesson:
    """What a training with these settings begins with."""
    task = task_of(config.kind)
    told("reading")
    return task.prepare(task.open(data, config), config, told)


def same_corpus(path: Path, saved: Trained, data: str) -> Corpus:
    """The text of a run: to go on bit for bit, it must be the same, that of validation too."""
    task: Task = saved.task
    try:
        corpus = task.open_again(data or recorded_source(saved.facts), saved.config)
    except InputError as error:
        moved = "" if data else "; if the text has moved, say where to with --data"
        raise InputError(f"{error}{moved}") from None
    if not task.is_same_text(corpus, saved.facts):
        raise InputError(
            f"{corpus.name}: is not the text that {path} was trained on; give that one with --data,"
            " or start from these weights with: elman train RECIPE --from"
        )
    return corpus


def load(path: str | Path, kind: type[Kind] = Trained) -> Kind:  # type: ignore[assignment]
    """What is in a run folder, with its best weights; every file is checked first.

    `kind`: the class of what is wanted, like `TrainedTagger`; another one is refused.
    """

    def check(name: str, file: Path, contents: dict[str, Any]) -> None:
        check_kind(str(path), kind_in(contents), kind)  # before weights are read
        check_arrays(name, file, contents)

    trained: Any = saved_run(Path(path), read_run(Path(path), _PARTS, check))
    return trained


def plan(
    recipe: str,
    *,
    data: str,
    overrides: Iterable[str] = (),
    seed: int | None = None,
    machine: Machine | None = None,
    progress: Told = lambda what: None,
) -> Plan:
    """What a training costs on this machine: a few steps are measured and extrapolated."""
    config = load_recipe(recipe, overrides, seed)
    return task_of(config.kind).plan(config, str(data), Order(machine or Machine(), progress))
