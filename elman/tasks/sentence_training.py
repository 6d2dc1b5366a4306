"""Train a model of sentences, or go on with one; load it from its run folder.

Takes settings and data, gives a `TrainedTask` of the kind that the settings name. The loop, the
checkpoints and the run folder are those of language models (`training_run.py`); what a task is, is
said by `example_task.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from elman.errors import UNFIT, InputError, is_memory_error
from elman.models.weights import NotFinite, outline
from elman.recipes import RunConfig, saved_config
from elman.runs.folder import read_run
from elman.runs.lock import Lock
from elman.tasks.elmo import Elmo
from elman.tasks.example_task import TASKS, ExampleTask
from elman.tasks.fine_tuning import begin_with
from elman.tasks.language_modelling.trained import TrainedModel, run_kind
from elman.tasks.plugins import explaining_what_is_missing
from elman.tasks.saved_facts import check_facts, recorded_source, require_facts
from elman.tasks.saved_shapes import check_shapes
from elman.tasks.sentence_task import SentenceTask
from elman.tasks.trained_task import TrainedTask, reading_alike
from elman.tasks.training_run import TrainingRun
from elman.text.corpora import Corpus
from elman.text.example_splits import ORDERED
from elman.text.reader import Document
from elman.training.checkpoints import first_step_checked, read_state, restore
from elman.training.machine import Machine
from elman.training.memory import refuse_too_large
from elman.training.trainer import Trainer

_PARTS = ("config.json", "vocabulary.json", "facts.json", "weights.safetensors")


def train_sentences(
    config: RunConfig,
    data: str,
    *,
    before: TrainedModel | None = None,
    out: Path | None,
    overwrite: bool,
    machine: Machine,
    progress: Callable[[str], None],
) -> TrainedTask:
    """Train from the start, or from the word vectors and layers of a language model."""
    if machine.processes.count > 1:
        raise InputError(f"{config.kind}: is trained by one process; leave out torchrun")
    kind: type[ExampleTask] = TASKS[config.kind]
    progress("reading")
    corpus = kind.open(data, config)
    read = _examples(kind, corpus, config)
    source = _source_facts(corpus, read.notes)
    if read.columns:
        source["columns"] = read.columns
    return train_examples(
        config,
        read.train,
        read.valid,
        source,
        before=before,
        out=out,
        overwrite=overwrite,
        machine=machine,
    )


def train_examples(
    config: RunConfig,
    train: list[Any],
    valid: list[Any],
    source: dict[str, Any],
    *,
    before: TrainedModel | None = None,
    out: Path | None = None,
    overwrite: bool = False,
    machine: Machine,
) -> TrainedTask:
    """Train on examples that were read already; `source`: facts on where they come from."""
    device = machine.prepare()
    kind: type[ExampleTask] = TASKS[config.kind]
    task = kind.learn(train, config)
    _add_language_model(task)
    trainer = _trainer(task, train, valid, device)
    unseen = _unseen_notes(task, valid)
    source["notes"] += unseen
    if before is not None:
        if not isinstance(task, SentenceTask):
            raise InputError(f"--from {before.name}: {kind.unit} are learned from the start")
        source["notes"].append(begin_with(before, task, trainer.model, machine.warn))
    for message in source["notes"]:
        (machine.warn if message in unseen else machine.note)(message)
    about = {"examples": len(train), "unit": kind.unit, **task.vocabulary()}
    facts = {
        "data": source | about,
        "task": task.facts(train),
        "validation": None,
        "seconds": 0.0,
    }
    run = TrainingRun(trainer, config, {"vocabulary.json": task.kept()}, facts, machine, out)
    run.start(overwrite)
    return _trained(task, trainer.model, run.facts, run.name)


def prepare(config: RunConfig, data: str, device: torch.device) -> tuple[Trainer, list[str]]:
    """A trainer as training begins with, for a plan of it, and notes on the data."""
    kind: type[ExampleTask] = TASKS[config.kind]
    corpus = kind.open(data, config)
    read = _examples(kind, corpus, config)
    task = kind.learn(read.train, config)
    _add_language_model(task)
    notes = [*_source_facts(corpus, read.notes)["notes"], *_unseen_notes(task, read.valid)]
    return _trainer(task, read.train, read.valid, device), notes


def _unseen_notes(task: ExampleTask, valid: list[Any]) -> list[str]:
    return [f"validation: {note}" for note in task.notes(valid)]


def _add_language_model(task: ExampleTask) -> None:
    """The frozen one that the settings name, if any."""
    if named := getattr(task.config.model, "elmo", ""):
        assert isinstance(task, SentenceTask), "only those have the setting"
        task.elmo = Elmo.read(named)


def resume_sentences(
    path: Path,
    contents: dict[str, Any],
    *,
    data: str | None,
    machine: Machine,
    progress: Callable[[str], None],
    lock: Lock | None,
) -> TrainedTask:
    """Go on with a run where it stopped, bit for bit."""
    saved = saved_task(path, contents)
    require_facts(path, saved.facts, "examples", "unit")
    state = read_state(path, contents)
    if machine.threads is None:
        machine = replace(machine, threads=state["threads"])
    device = machine.prepare()
    progress("reading")
    corpus = _same_text(path, saved, data)
    read = _examples(type(saved.task), corpus, saved.config)
    trainer = _trainer(saved.task, read.train, read.valid, device)
    restore(path, trainer, contents)
    parts = {"vocabulary.json": saved.task.kept()}
    run = TrainingRun(trainer, saved.config, parts, saved.facts, machine, path)
    with first_step_checked(path, trainer):
        run.train(records=state["history"], lock=lock)
    return _trained(saved.task, trainer.model, run.facts, run.name)


def _same_text(path: Path, saved: TrainedTask, data: str | None) -> Corpus:
    """The text of a run: to go on bit for bit, it must be the same."""
    try:
        corpus = saved.task.open(data or recorded_source(saved.facts), saved.config)
    except InputError as error:
        moved = "" if data else "; if the text has moved, say where to with --data"
        raise InputError(f"{error}{moved}") from None
    if [*_hashes(corpus).values()] != [*saved.facts["data"]["sha256"].values()]:
        raise InputError(
            f"{corpus.name}: is not the text that {path} was trained on; give that one with --data"
        )
    return corpus


def load_kind(path: Path, kind: str) -> Any:
    """The run of a kind of task, or one line that says what it is instead."""
    found = run_kind(path)
    if found != kind:
        raise InputError(
            f"{path}: is a run of the model {found!r}, not {kind!r}; "
            f"train one with: elman train {TASKS[kind].recipe}"
        )
    return load_task(path)


def load_task(path: Path) -> TrainedTask:
    """The model in a run folder, with its best weights; every file is checked first."""
    return saved_task(path, read_run(path, _PARTS, check_shapes))


def saved_task(path: Path, contents: dict[str, Any]) -> TrainedTask:
    """The model in the contents of a run folder."""
    try:
        with explaining_what_is_missing(path, contents["facts.json"]):
            config = saved_config(contents["config.json"], contents["weights.safetensors"].keys())
        kind: type[ExampleTask] = TASKS.choose(config.kind)
        task = kind.restored(contents["vocabulary.json"], config)
        with torch.random.fork_rng(devices=[]):  # fresh weights, soon gone, leave no trace
            model = task.build()
        model.load_arrays(contents["weights.safetensors"])
        facts = check_facts(contents["facts.json"])
    except NotFinite as error:
        raise InputError(f"{path}: {error}") from None
    except KeyError as error:
        raise InputError(f"{path}: the run lacks {error}; train again") from None
    except UNFIT as error:
        if is_memory_error(error):
            raise
        raise InputError(f"{path}: the parts of the run do not fit ({error})") from None
    return _trained(task, model.eval(), facts, str(path))


def _trained(task: ExampleTask, model: Any, facts: dict[str, Any], name: str) -> TrainedTask:
    made: TrainedTask = task.trained_class()(task, model, facts, name)
    return made


def _trainer(
    task: ExampleTask, train: list[Any], valid: list[Any], device: torch.device
) -> Trainer:
    config = task.config
    refuse_too_large(outline(task.build), config.training)
    torch.manual_seed(config.seed)
    model = task.build().to(device)
    size = config.training.batch_size
    batches = task.batches(train, size, config.seed)
    validation = task.batches(valid, size, None)
    torch.manual_seed(config.seed)
    return Trainer(model, batches, config.training, validation)


@dataclass
class Split:
    """Examples to learn from and to validate on."""

    train: list[Any]
    valid: list[Any]
    notes: list[str]  # on how they were split
    columns: dict[str, str]  # of the table that was learned from


def _examples(kind: type[ExampleTask], corpus: Corpus, config: RunConfig) -> Split:
    """Read a corpus; of one file a part is held out."""
    splitter = kind.splitter(config)
    document = corpus.whole or corpus.split("train")
    every = kind.read(document, config)
    columns = kind.columns(document, every, config)
    ordered = splitter.way == ORDERED
    if corpus.whole is not None:  # one file: cut between examples, not between its lines
        parts = splitter.split(every)
        note = f"one file: the first 90 % of its {kind.unit} are train, then 5 % valid, 5 % test"
        if not ordered:
            counts = ", ".join(f"{len(part):,} {name}" for name, part in parts.items())
            note = (
                f"one file: its {len(every):,} {kind.unit} were split at random into {counts}; "
                "the seed is fixed, so all runs on this file share the split"
            )
        return Split(
            kind.learned(parts["train"]), parts["valid"] or parts["train"], [note], columns
        )
    if "valid" in corpus.documents:
        given = corpus.documents["valid"]
        valid = kind.read(given, reading_alike(given, config, columns))
        return Split(kind.learned(every), valid, [], columns)
    train, held_out = splitter.hold_out(every)
    drawn = "the last" if ordered else "a random"
    note = f"no valid file: {drawn} {len(held_out):,} of {len(every):,} {kind.unit} of train"
    notes = [f"{note} are held out for validation"]
    return Split(kind.learned(train), held_out, notes, columns)


def _hashes(corpus: Corpus) -> dict[str, str]:
    return {source.name: source.sha256() for source in _sources(corpus)}


def _sources(corpus: Corpus) -> list[Document]:
    return [corpus.whole] if corpus.whole else [*corpus.documents.values()]


def _source_facts(corpus: Corpus, notes: list[str]) -> dict[str, Any]:
    return {
        "name": corpus.name,
        "sha256": _hashes(corpus),
        "notes": [*notes, *(note for source in _sources(corpus) for note in source.notes)],
    }
