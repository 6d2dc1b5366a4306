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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self, TypedDict, TypeVar, Unpack, overload

from elman.errors import InputError
from elman.evaluation.measures import MeasureTable
from elman.models import MODELS
from elman.recipes import RunConfig, load_recipe, saved_config
from elman.runs.claim import refuse_existing
from elman.runs.folder import read_run
from elman.runs.lock import Lock, only_writer
from elman.runs.parts import part_shapes
from elman.tasks import TASKS
from elman.tasks.plugins import explaining_what_is_missing
from elman.tasks.saved_runs import check_facts, explaining_misfits, recorded_source
from elman.tasks.trained import Trained
from elman.text.corpora import Corpus, open_corpus
from elman.training.machine import Machine

Told = Callable[[str], None]  # what is being done now
Kind = TypeVar("Kind", bound=Trained)
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


def task_of(kind: str) -> type[Task]:
    """The task of a kind of model."""
    found: type[Task] = TASKS.choose(MODELS.choose(kind).task).load()
    return found


class TrainOptions(TypedDict, total=False):
    """What `train` takes besides a recipe and data."""

    out: str | Path | None
    overrides: Iterable[str]
    seed: int | None
    overwrite: bool
    start_from: str | Path | None
    machine: Machine | None
    progress: Told


@overload
def train(recipe: str = ..., *, data: str, **options: Unpack[TrainOptions]) -> Trained: ...
@overload
def train(
    recipe: str = ..., *, data: str, kind: type[Kind], **options: Unpack[TrainOptions]
) -> Kind: ...
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
    kind: type[Trained] = Trained,
) -> Trained:
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
    order = Order(machine, progress, place, overwrite, before)
    return task.fit(config, str(data), order)


class ResumeOptions(TypedDict, total=False):
    """What `resume` takes besides a run."""

    data: str | None
    overrides: Iterable[str]
    machine: Machine | None
    progress: Told


@overload
def resume(path: str | Path, **options: Unpack[ResumeOptions]) -> Trained: ...
@overload
def resume(path: str | Path, kind: type[Kind], **options: Unpack[ResumeOptions]) -> Kind: ...
def resume(
    path: str | Path,
    kind: type[Trained] = Trained,
    *,
    data: str | None = None,
    overrides: Iterable[str] = (),
    machine: Machine | None = None,
    progress: Told = lambda what: None,
) -> Trained:
    """Go on with a run where it stopped, bit for bit; `data` if the text has moved.

    `overrides` like "training.epochs=20" train a run for longer than it was meant to.
    """
    order = Order(machine or Machine(), progress, Path(path), overrides=tuple(overrides))
    found = kind_in(read_run(Path(path), ("config.json",)))  # is refused if there is none
    check_kind(str(path), found, kind)
    if order.machine.processes.rank:
        return _resume(Path(path), data, order, None)
    with only_writer(Path(path)) as lock:
        return _resume(Path(path), data, order, lock)


def _resume(path: Path, data: str | None, order: Order, lock: Lock | None) -> Trained:
    """The same, with the run folder locked by the one process that writes to it."""
    contents = read_run(path, check=check_arrays)
    if "training.json" not in contents:
        raise InputError(f"{path}: is not a run in training; train one with: elman train")
    task = task_of(kind_in(contents))
    return task.go_on(path, contents, data or "", order, lock)


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


@overload
def load(path: str | Path) -> Trained: ...
@overload
def load(path: str | Path, kind: type[Kind]) -> Kind: ...
def load(path: str | Path, kind: type[Trained] = Trained) -> Trained:
    """What is in a run folder, with its best weights; every file is checked first.

    `kind`: the class of what is wanted, like `TrainedTagger`; another one is refused.
    """

    def check(name: str, file: Path, contents: dict[str, Any]) -> None:
        found = kind_in(contents)
        check_kind(str(path), found, kind)  # before weights are read
        check_arrays(name, file, contents)

    return saved_run(Path(path), read_run(Path(path), _PARTS, check))


def check_kind(what: str, found: str, wanted: type[Trained]) -> None:
    """Refuse a kind of model whose trained class is not the one that is wanted."""
    if not issubclass(task_of(found).trained_class, wanted):
        article = "an" if found.startswith(("a", "e", "n")) else "a"
        commands = [f"elman {name}" for name in (*TASKS[MODELS[found].task].questions, "evaluate")]
        raise InputError(
            f"{what}: is {article} {found}, not {wanted.about}; it is for {', '.join(commands)}"
        )


def kind_in(contents: dict[str, Any]) -> str:
    """The kind of model in the contents of a run folder; "" if they are no settings."""
    config = contents.get("config.json")
    model = config.get("model") if isinstance(config, dict) else None
    return str(model.get("kind", "")) if isinstance(model, dict) else ""


def saved_run(path: Path, contents: dict[str, Any]) -> Trained:
    """What the contents of a run folder hold."""
    with explaining_misfits(path):
        with explaining_what_is_missing(path, contents["facts.json"]):
            config = saved_config(contents["config.json"], contents["weights.safetensors"].keys())
            task = task_of(config.kind).restored(contents[task_of(config.kind).part], config)
        facts = check_facts(contents["facts.json"])
        model = task.restore_model(contents["weights.safetensors"], facts["model"])
    return task.trained_class(task, model, facts, str(path))


def check_arrays(name: str, file: Path, contents: dict[str, Any]) -> None:
    """Refuse arrays that are not those of the model that the settings describe.

    Called by `read_run` when everything but arrays was read.
    """
    with (
        explaining_misfits(file.parent),
        explaining_what_is_missing(file.parent, contents.get("facts.json")),
    ):
        # An older run may mean by its settings what the names of its arrays say.
        arrays = contents.get("weights.safetensors") or part_shapes(file)
        config = saved_config(contents["config.json"], arrays.keys())
        task_of(config.kind).check_arrays(name, file, config, contents)


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
