"""Train a neural language model, or go on with one: the way from a text to a finished run.

Takes settings and data, or a run folder, gives a `TrainedModel`. Called by `training.py` and by
`elman train --resume`. `training_text.py` reads, `trainers.py` builds, `training_run.py` trains and
saves.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from elman.errors import InputError
from elman.models import SENTENCE_MODELS
from elman.recipes import RunConfig
from elman.runs.folder import read_run
from elman.runs.lock import Lock, only_writer
from elman.tasks.language_modelling.trained import TrainedModel, kind_in, saved_run
from elman.tasks.language_modelling.trainers import build_trainer
from elman.tasks.language_modelling.training_text import (
    TrainingText,
    encode_training_text,
    read_training_text,
)
from elman.tasks.saved_facts import recorded_source, require_facts
from elman.tasks.saved_shapes import check_shapes
from elman.tasks.sentence_training import resume_sentences
from elman.tasks.training_run import TrainingRun
from elman.text import tokenizer_from_data, tokenizer_to_data
from elman.text.corpora import Corpus, open_corpus
from elman.text.tokenizer import Tokenizer
from elman.training.checkpoints import first_step_checked, read_state, restore
from elman.training.machine import Machine
from elman.training.processes import Processes, refuse_other_count


def train_neural(
    config: RunConfig,
    data: str,
    *,
    out: Path | None,
    overwrite: bool,
    before: TrainedModel | None,
    machine: Machine,
    progress: Callable[[str], None],
) -> TrainedModel:
    """Train from the start, or from the vocabulary and the weights of the run `before`."""
    processes = machine.processes
    processes.check(config.training.batch_size)
    if out is None and machine.tensorboard:
        raise InputError("tensorboard needs a run folder to write to; give --out")
    device = machine.prepare()
    text = read_training_text(data, config, progress, before.tokenizer if before else None)
    if before is not None:
        config.text = before.config.text
    if processes.count > 1:
        text = _same_for_all(processes, text)
    facts = {"data": text.facts(), "validation": None, "seconds": 0.0}
    trainer = build_trainer(config, text, device, processes, before)
    run = TrainingRun(trainer, config, _parts(text.tokenizer), facts, machine, out)
    run.start(overwrite)
    return TrainedModel(text.tokenizer, trainer.model, config, run.facts, run.name)


def resume(
    path: Path,
    *,
    data: str | None = None,
    machine: Machine | None = None,
    progress: Callable[[str], None] = lambda what: None,
) -> Any:
    """Go on with a run where it stopped, bit for bit; `data` if the text has moved."""
    machine = machine or Machine()
    read_run(path, ())  # is refused if there is none
    if machine.processes.rank:
        return _resume(path, data, machine, progress, None)
    with only_writer(path) as lock:
        return _resume(path, data, machine, progress, lock)


def _resume(
    path: Path,
    data: str | None,
    machine: Machine,
    progress: Callable[[str], None],
    lock: Lock | None,
) -> Any:
    """The same, with the run folder locked by the one process that writes to it."""
    contents = read_run(path, check=check_shapes)
    if "training.json" not in contents:
        raise InputError(f"{path}: is not a run in training; train one with: elman train")
    if kind_in(contents) in SENTENCE_MODELS:
        return resume_sentences(
            path, contents, data=data, machine=machine, progress=progress, lock=lock
        )
    saved = saved_run(path, contents)
    require_facts(path, saved.facts, "lines", "empty_lines", "tokens")
    state = read_state(path, contents)
    refuse_other_count(machine.processes, state["processes"], path)
    if machine.threads is None:
        machine = replace(machine, threads=state["threads"])
    device = machine.prepare()
    progress("reading")
    corpus = _same_text(path, saved, data)
    progress("tokenizing")
    text = encode_training_text(corpus, saved.tokenizer)
    trainer = build_trainer(saved.config, text, device, machine.processes)
    restore(path, trainer, contents)
    run = TrainingRun(trainer, saved.config, _parts(saved.tokenizer), saved.facts, machine, path)
    with first_step_checked(path, trainer):
        run.train(records=state["history"], lock=lock)
    return TrainedModel(saved.tokenizer, trainer.model, saved.config, run.facts, run.name)


def _parts(tokenizer: Tokenizer) -> dict[str, Any]:
    return {"tokenizer.json": tokenizer_to_data(tokenizer)}


def _same_for_all(processes: Processes, text: TrainingText) -> TrainingText:
    """The text with the tokenizer of the first process: sub-words differ a little each time they
    are learned. The ids with it must be the same everywhere.
    """
    learned = json.dumps(tokenizer_to_data(text.tokenizer))
    tokenizer = tokenizer_from_data(json.loads(processes.first_text(learned)))
    same = encode_training_text(text.corpus, tokenizer)
    digest = hashlib.sha256(same.ids.tobytes()).hexdigest()
    (different,) = processes.largest(int(processes.first_text(digest) != digest))
    if different:
        raise InputError(
            f"{text.corpus.name}: is not the same text for all {processes.count} processes"
        )
    return same


def _same_text(path: Path, saved: TrainedModel, data: str | None) -> Corpus:
    """The text of a run: to go on bit for bit, it must be the same, that of validation too."""
    facts = saved.facts
    try:
        # Not `saved.open`: what was trained on before its format was checked is trained on.
        named, labelled = data or recorded_source(facts), saved.config.text.labelled
        corpus = open_corpus(named, labelled=labelled)
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
