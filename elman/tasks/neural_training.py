"""Train a neural language model, on disk: text to batches, the loop, snapshots to the run folder.

Takes settings and data, gives a `TrainedModel`. A run folder in training holds, beside what every
run has (`weights.safetensors` are the best so far), what is needed to go on bit for bit:

    last.safetensors      the weights as training left them
    memory.safetensors    optimizer, averages; carried state, random generators of every process
    training.json         positions, schedule, best so far, how much of the history is of then
    history.jsonl         what happened, one record per line, and curves.png, its picture
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from elman.batches import Batches, Lines, Stream
from elman.errors import InputError
from elman.models import MODELS
from elman.models.neural import NeuralModel
from elman.runs.folder import only_writer, read_run, update_run, write_run
from elman.tasks.language_model import TrainedModel, saved_run
from elman.tasks.recipes import RunConfig
from elman.tasks.training import data_facts, learn_tokenizer
from elman.text import tokenizer_from_data, tokenizer_to_data
from elman.text.corpora import Corpus, open_corpus
from elman.text.marks import after_mark
from elman.text.tokenizer import Tokenizer
from elman.training.history import CURVES, History, draw_curves
from elman.training.loop import Loop, Progress, Record, Stopped
from elman.training.processes import Processes, WorkerLost, refuse_other_count
from elman.training.trainer import Snapshot, Tensors, Trainer

_VALIDATION_WINDOW = 100  # tokens at a time; of no consequence for the result
_FEWEST_PER_COLUMN = 200  # tokens of validation text


@dataclass
class Machine:
    """Where and how a training runs; of no consequence for what it is."""

    device: str = "cpu"
    threads: int | None = None  # None: as many as torch takes
    tensorboard: bool = False  # log to a folder `tensorboard` in the run folder
    watch: Callable[[Progress], None] = lambda progress: None
    record: Callable[[Record], None] = lambda record: None  # what the history is told too
    processes: Processes = field(default_factory=Processes)  # that train together


def train_neural(
    config: RunConfig,
    data: str,
    *,
    out: Path | None,
    overwrite: bool = False,
    before: TrainedModel | None = None,
    machine: Machine | None = None,
    progress: Callable[[str], None] = lambda what: None,
) -> TrainedModel:
    """Train from the start, or from the weights of the run `before`."""
    machine = machine or Machine()
    processes = machine.processes
    processes.check(config.training.batch_size)
    device = prepare_machine(machine)
    progress("reading")
    corpus = open_corpus(data, labelled=config.text.labelled)
    progress("tokenizing")
    if before is None:
        tokenizer, ids = learn_tokenizer(corpus.split("train"), config)
    else:
        tokenizer, config.text = before.tokenizer, before.config.text
        ids = tokenizer.encode(corpus.split("train").text)
    if processes.count > 1:
        tokenizer, ids = _same_tokens(processes, corpus, tokenizer)
    if out is None and machine.tensorboard:
        raise InputError("tensorboard needs a run folder to write to; give --out")
    facts = {"data": data_facts(corpus, tokenizer, ids), "validation": None, "seconds": 0.0}
    trainer = build_trainer(config, corpus, tokenizer, ids, device, processes=processes)
    if before is not None:
        _begin_with(trainer.model, before)
        trainer = build_trainer(config, corpus, tokenizer, ids, device, trainer.model, processes)
    run = _Run(trainer, config, tokenizer, facts, machine)
    if out is not None:
        run.begin(out, overwrite)
    return run.train(out)


def resume(
    path: Path,
    *,
    data: str | None = None,
    machine: Machine | None = None,
    progress: Callable[[str], None] = lambda what: None,
) -> TrainedModel:
    """Go on with a run where it stopped, bit for bit; `data` if the text has moved."""
    machine = machine or Machine()
    contents = read_run(path)
    if "training.json" not in contents:
        raise InputError(f"{path}: is not a run in training; train one with: elman train")
    saved = saved_run(path, contents)
    state = contents["training.json"]
    refuse_other_count(machine.processes, state.get("processes", 1), path)
    if machine.threads is None:
        machine.threads = state["threads"]
    device = prepare_machine(machine)
    progress("reading")
    corpus = _same_text(path, saved, data)
    progress("tokenizing")
    ids = saved.tokenizer.encode(corpus.split("train").text)
    trainer = build_trainer(
        saved.config, corpus, saved.tokenizer, ids, device, processes=machine.processes
    )
    snapshot = Snapshot(
        weights=_tensors(contents["last.safetensors"]),
        best=_tensors(contents["weights.safetensors"]),
        memory=machine.processes.own(_tensors(contents["memory.safetensors"])),
        data={**state["trainer"], "best_nats": _number(state["trainer"]["best_nats"])},
    )
    trainer.restore(snapshot)
    run = _Run(trainer, saved.config, saved.tokenizer, saved.facts, machine)
    return run.train(path, records=state["history"])


class _Run:
    """A training and its place on disk, where the first process alone writes."""

    def __init__(
        self,
        trainer: Trainer,
        config: RunConfig,
        tokenizer: Tokenizer,
        facts: dict[str, Any],
        machine: Machine,
    ) -> None:
        self.trainer = trainer
        self.config = config
        self.tokenizer = tokenizer
        self.facts = facts
        self.machine = machine
        self.processes = machine.processes
        self.facts["model"] = trainer.model.facts()
        self._history: History | None = None
        self._saved_best = -1
        self._since = time.perf_counter()
        self._drawn = 0.0

    def begin(self, out: Path, overwrite: bool) -> None:
        """Make the run folder, with everything as it is before the first step."""
        snapshot = self._whole(self.trainer.snapshot())
        if self.processes.rank == 0:
            write_run(out, self._contents(snapshot), overwrite=overwrite)

    def train(self, out: Path | None, records: int = 0) -> TrainedModel:
        """To the end; the model with the best weights. `records` of the history are of before."""
        writes = out is not None and self.processes.rank == 0
        try:
            with only_writer(out) if out is not None and writes else nullcontext():
                self._train(out if writes else None, records)
        except (Stopped, WorkerLost) as ended:
            if out is None:
                raise
            go_on = f"go on with: {self.processes.resume_command(out)}"
            if isinstance(ended, Stopped):
                raise Stopped(f"stopped, and everything is saved; {go_on}", ended.number) from None
            raise WorkerLost(f"{ended}; the last checkpoint is whole; {go_on}") from None
        model: NeuralModel = self.trainer.model
        model.load_state_dict(self.trainer.best)
        model.cpu().eval()
        self._update_facts()
        name = "model" if out is None else str(out)
        return TrainedModel(self.tokenizer, model, self.config, self.facts, name)

    def _train(self, out: Path | None, records: int) -> None:
        writer = self._tensorboard(out)

        def record(entry: Record) -> None:
            self.machine.record(entry)
            if self._history is not None:
                self._history.add(entry)
            if writer is not None:
                for name, value in entry.items():
                    if isinstance(value, int | float) and name != "step":
                        writer.add_scalar(name, value, entry["step"])

        def save(snapshot: Snapshot) -> None:
            whole = self._whole(snapshot)
            if out is not None:
                self._save(out, whole)
            self.processes.largest(0)  # it is saved, now that all have come here

        if out is not None:
            self._history = History(out, records)
        loop = Loop(self.trainer, save=save, record=record, progress=self.machine.watch)
        try:
            loop.run()
        except WorkerLost:
            self._history = None  # no time for curves: torchrun will soon end this process too
            raise
        finally:
            if writer is not None:
                writer.close()
            if self._history is not None and out is not None:
                draw_curves(self._history.records, out / CURVES)

    def _whole(self, snapshot: Snapshot) -> Snapshot:
        """With what every process remembers, on the first of them."""
        return replace(snapshot, memory=self.processes.gather(snapshot.memory))

    def _contents(self, snapshot: Snapshot) -> dict[str, Any]:
        """Everything that a run folder holds of a run in training."""
        self._update_facts()
        self._saved_best = snapshot.data["best_step"]
        return {
            "config.json": self.config.to_data(),
            "tokenizer.json": tokenizer_to_data(self.tokenizer),
            "weights.safetensors": _arrays(snapshot.best),
            **self._changing(snapshot),
        }

    def _changing(self, snapshot: Snapshot) -> dict[str, Any]:
        best = snapshot.data["best_nats"]
        return {
            "facts.json": self.facts,
            "last.safetensors": _arrays(snapshot.weights),
            "memory.safetensors": _arrays(snapshot.memory),
            "training.json": {
                "threads": torch.get_num_threads(),
                "processes": self.processes.count,
                "history": 0 if self._history is None else len(self._history.records),
                "trainer": {**snapshot.data, "best_nats": best if math.isfinite(best) else None},
            },
        }

    def _save(self, out: Path, snapshot: Snapshot) -> None:
        self._update_facts()
        changed = self._changing(snapshot)
        if snapshot.data["best_step"] != self._saved_best:
            changed["weights.safetensors"] = _arrays(snapshot.best)
        update_run(out, changed)
        self._saved_best = snapshot.data["best_step"]
        if self._history is not None and time.perf_counter() - self._drawn > 60:
            draw_curves(self._history.records, out / CURVES)
            self._drawn = time.perf_counter()

    def _update_facts(self) -> None:
        now = time.perf_counter()
        self.facts["seconds"] = round(self.facts["seconds"] + now - self._since, 3)
        self._since = now
        trainer = self.trainer
        done = trainer.epochs_done * trainer.batches.tokens_per_epoch
        steps = max(trainer.step_number, 1) * self.processes.count  # each of a share
        per_token = trainer.model.multiplications(round(done / steps))
        self.facts["training"] = {
            "epochs": round(trainer.epochs_done, 4),
            "steps": trainer.step_number,
            "tokens": round(done),
            "teraflop": round(6e-12 * per_token * done, 3),
            "finished": trainer.finished,
        }
        if math.isfinite(trainer.best_nats) and trainer.validation is not None:
            self.facts["validation"] = {
                "perplexity": math.exp(min(trainer.best_nats, 700)),
                "tokens": trainer.validation.learned_per_epoch,
            }

    def _tensorboard(self, out: Path | None) -> Any:
        if not self.machine.tensorboard or out is None:
            return None
        return _summary_writer()(str(out / "tensorboard"))


def prepare_machine(machine: Machine) -> torch.device:
    """Set the threads, and give the device if it can be used."""
    if machine.tensorboard:
        _summary_writer()  # before the work, not after it
    if machine.threads is not None:
        if machine.threads < 1:
            raise InputError(f"--threads {machine.threads}: must be at least 1")
        torch.set_num_threads(machine.threads)
    try:
        device = torch.device(machine.device)
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"--device {machine.device}: cannot be used here ({reason})") from None
    return device


def _summary_writer() -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise InputError("TensorBoard is not installed: pip install tensorboard") from None
    return SummaryWriter


def build_trainer(
    config: RunConfig,
    corpus: Corpus,
    tokenizer: Tokenizer,
    ids: np.ndarray,
    device: torch.device,
    model: NeuralModel | None = None,
    processes: Processes | None = None,
) -> Trainer:
    """Model, batches and loop that the settings ask for."""
    processes = processes or Processes()
    torch.manual_seed(config.seed)
    if model is None:
        family = MODELS.choose(config.kind)
        model = family.build(config.model, ids, tokenizer.tokens, tokenizer.eos_id)
    batches = make_batches(config, ids, tokenizer)
    validation = None
    if "valid" in corpus.documents:
        valid_ids = tokenizer.encode(corpus.documents["valid"].text)
        validation = _validation_batches(config, valid_ids, tokenizer)
    model.to(device)
    processes.copy_first(model.state_dict().values())  # other machines may have drawn others
    processes.seed(config.seed)
    return Trainer(model, batches, config.training, validation, processes)


def make_batches(config: RunConfig, ids: np.ndarray, tokenizer: Tokenizer) -> Batches:
    """The batches that the settings ask for."""
    training = config.training
    eos_id, size, seed = tokenizer.eos_id, training.batch_size, config.seed
    learned = _learned(config, ids, tokenizer)
    if config.model.context == "line":
        return Lines(ids, batch_size=size, eos_id=eos_id, seed=seed, learned=learned)
    return Stream(
        ids,
        batch_size=size,
        window=training.window,
        jitter=training.window_jitter,
        seed=seed,
        learned=learned,
    )


def _learned(config: RunConfig, ids: np.ndarray, tokenizer: Tokenizer) -> np.ndarray | None:
    """Which ids are learned, where not all of them are."""
    mark = config.training.learn_after
    if not mark:
        return None
    learned = after_mark(ids, tokenizer.single_id(mark), tokenizer.eos_id)
    if not learned.any():
        raise InputError(f"training.learn_after={mark!r}: nothing in the text stands after it")
    return learned


def _validation_batches(config: RunConfig, ids: np.ndarray, tokenizer: Tokenizer) -> Batches | None:
    """Side by side, for speed: a column's first words have less before them than in the text."""
    if len(ids) < 2:
        return None
    training = config.training
    learned = _learned(config, ids, tokenizer)
    if config.model.context == "line":
        size, eos_id = training.batch_size, tokenizer.eos_id
        return Lines(ids, batch_size=size, eos_id=eos_id, learned=learned)
    columns = max(1, min(training.batch_size, len(ids) // _FEWEST_PER_COLUMN))
    return Stream(ids, batch_size=columns, window=_VALIDATION_WINDOW, learned=learned)


def _same_tokens(
    processes: Processes, corpus: Corpus, tokenizer: Tokenizer
) -> tuple[Tokenizer, np.ndarray]:
    """The tokenizer of the first process (sub-words differ a little each time they are learned),
    and the ids of the text with it, which must be the same everywhere.
    """
    learned = json.dumps(tokenizer_to_data(tokenizer))
    tokenizer = tokenizer_from_data(json.loads(processes.first_text(learned)))
    ids = tokenizer.encode(corpus.split("train").text)
    digest = hashlib.sha256(ids.tobytes()).hexdigest()
    (different,) = processes.largest(int(processes.first_text(digest) != digest))
    if different:
        raise InputError(f"{corpus.name}: is not the same text for all {processes.count} processes")
    return tokenizer, ids


def _begin_with(model: NeuralModel, before: TrainedModel) -> None:
    """Take over the weights of another run."""
    if not isinstance(before.model, NeuralModel):
        raise InputError(f"--from {before.name}: is not a neural model, so it has no such weights")
    try:
        model.load_arrays(before.model.arrays())
    except ValueError as error:
        raise InputError(
            f"--from {before.name}: its model is another than this recipe's ({error})"
        ) from None


def _same_text(path: Path, saved: TrainedModel, data: str | None) -> Corpus:
    """The text of a run: to go on bit for bit, it must be the same, that of validation too."""
    facts = saved.facts
    try:
        corpus = saved.open(data or facts["data"]["name"])
    except InputError as error:
        moved = "" if data else "; if the text has moved, say where to with --data"
        raise InputError(f"{error}{moved}") from None
    known = facts["data"]["sha256"].values()
    used = [corpus.split("train"), corpus.documents.get("valid")]
    lost = used[1] is None and facts["validation"] is not None
    if lost or any(document and document.sha256() not in known for document in used):
        raise InputError(
            f"{corpus.name}: is not the text that {path} was trained on; give that one with --data,"
            " or start from these weights with: elman train RECIPE --from"
        )
    return corpus


def _tensors(arrays: dict[str, np.ndarray]) -> Tensors:
    # Copies, so that they lie in memory as torch would put them.
    return {name: torch.from_numpy(array).clone() for name, array in arrays.items()}


def _arrays(tensors: Tensors) -> dict[str, np.ndarray]:
    return {name: tensor.numpy(force=True) for name, tensor in tensors.items()}


def _number(value: float | None) -> float:
    return math.inf if value is None else value
