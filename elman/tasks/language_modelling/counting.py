"""Language modelling by counting: n-grams of running text. Needs no torch.

Count models can also be imported from ARPA files, the format of KenLM, SRILM and other toolkits;
the format itself and the export are in `formats/`.
"""

import hashlib
import math
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from elman.config import as_data, build
from elman.counts.engines import MEMORY
from elman.counts.estimate import IMPORTED, NgramConfig
from elman.counts.resources import memory_of, need_of, shown
from elman.counts.shards import row_count
from elman.errors import InputError
from elman.evaluation.measures import MeasureTable
from elman.formats.arpa_reader import read_arpa
from elman.models import MODELS
from elman.models.counted import CountedModel
from elman.models.ngram import NGram
from elman.recipes import RunConfig
from elman.runs.claim import claimed
from elman.runs.folder import explained, fill
from elman.runs.lock import Lock
from elman.tasks.language_modelling.count_files import (
    Counted,
    is_counts,
    read_counts,
    write_counts,
)
from elman.tasks.language_modelling.id_files import cache_folder
from elman.tasks.language_modelling.large_counts import counted_text, fit_counts
from elman.tasks.language_modelling.text_task import TextTask
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.saved_runs import keep_plugins
from elman.tasks.task import Lesson, Order, Plan, load
from elman.tasks.trained import Trained
from elman.text.corpora import Corpus
from elman.text.tokenizer import TextConfig
from elman.text.words import Words

_SAMPLE = 300_000  # tokens that are counted to measure the speed
_ASKED = 16  # bytes of memory per n-gram to ask a model


class Counting(TextTask):
    """Count and smooth in one go: there are no steps, so nothing to resume."""

    recipe = "ngram"
    by_counting = True
    maps_arrays = True

    def training_lines(self, facts: dict[str, Any]) -> list[str | MeasureTable]:
        """A table of what was counted."""
        header, rows = MODELS.choose(self.config.kind).training_rows(facts["model"])
        return [MeasureTable(header, rows)]

    def quantised(self, model: CountedModel, bits: int) -> dict[str, np.ndarray]:
        """Probabilities of 8 or 32 bits, short keys, and no counts."""
        if not isinstance(model, NGram):
            raise InputError(
                f"model.kind={self.config.kind}: cannot be quantised; only n-gram and neural "
                "language models can"
            )
        return model.quantised(bits).arrays()

    @classmethod
    def fit(cls, config: RunConfig, data: str | Corpus, order: Order) -> Trained:
        if order.before is not None:
            raise InputError(
                f"--from {order.before.name}: a count model cannot be fine-tuned; leave out --from"
            )
        if order.allowance is not None:
            raise InputError(f"{config.recipe}: counting takes seconds; leave out --budget")
        if order.machine.processes.count > 1:
            raise InputError(f"{config.recipe}: counting uses one process; run it without torchrun")
        with ExitStack() as until_saved:
            if order.out is None:
                return cls._count(config, data, order, until_saved)
            # Claim the folder before counting.
            with claimed(order.out, overwrite=order.overwrite) as claim:
                trained = cls._count(config, data, order, until_saved)
                order.told("saving")
                contents = trained.contents()
                with explained(order.out, contents):
                    fill(claim.folder, contents)
                    claim.publish()
        return trained.named(str(order.out))

    @classmethod
    def _count(
        cls, config: RunConfig, data: str | Corpus, order: Order, until_saved: ExitStack
    ) -> Trained:
        started = time.perf_counter()
        if order.counts:
            task, model, facts = cls._add_up(config, order)
        else:
            order.told("reading")
            lesson = cls.prepare(cls.opened(data, config), config, order.told)
            task, model = lesson.task, cls._fit(lesson.task, lesson.train, order, until_saved)
            order.told("validating")
            facts = {
                "model": model.facts(),
                **lesson.facts(),
                "validation": _validate(lesson, model, order),
            }
        facts["seconds"] = round(time.perf_counter() - started, 3)
        keep_plugins(facts, task.config)
        for message in [*facts["data"]["notes"], *facts["model"].get("notes", [])]:
            order.machine.note(message)
        trained: Trained = task.trained_class(task, model, facts)
        return trained

    @classmethod
    def _fit(cls, task: Any, ids: np.ndarray, order: Order, until_saved: ExitStack) -> Any:
        """The model of a text; files that it needs are removed when it is saved."""
        resources, settings, tokenizer = order.machine.counting, task.config.model, task.tokenizer
        family = MODELS.choose(task.config.kind)
        engine = resources.choose(len(ids), family.orders(settings), len(tokenizer))
        if engine != MEMORY and not family.counts_on_disk:
            needed = memory_of(len(ids), family.orders(settings), len(tokenizer))
            raise InputError(
                f"{task.config.recipe}: counts in memory only, about {shown(needed)} for "
                f"{len(ids):,} tokens; leave out --engine, raise --memory, or use the recipe ngram"
            )
        if engine == MEMORY:
            return family.fit(
                np.asarray(ids, dtype=np.int64),
                settings,
                vocabulary_size=len(tokenizer),
                eos_id=tokenizer.eos_id,
                progress=order.told,
            )
        order.told("estimating the size")
        family.need(ids, settings, eos_id=tokenizer.eos_id).check(cache_folder(), order.out)
        files = until_saved.enter_context(
            counted_text(ids, settings, resources, eos_id=tokenizer.eos_id, told=order.told)
        )
        return family(cls._tables(task, files, engine, order), settings)

    @classmethod
    def _add_up(cls, config: RunConfig, order: Order) -> tuple[Any, Any, dict[str, Any]]:
        """Task, model and facts of a training from folders of counts."""
        if not MODELS.choose(config.kind).counts_on_disk:
            raise InputError(
                f"{config.recipe}: is trained on a text, not on counts of n-grams; give --data"
            )
        order.told("reading")
        counted = read_counts(order.counts)
        settings = config.model
        if settings.order > counted.order:
            raise InputError(
                f"{order.counts[0]}: has n-grams up to order {counted.order}, not "
                f"{settings.order}; add --set model.order={counted.order}, or count again"
            )
        if settings.context != counted.context:
            raise InputError(
                f"{order.counts[0]}: was counted with model.context={counted.context}; "
                f"add --set model.context={counted.context}"
            )
        text = build(TextConfig, counted.text, "text")
        task = cls(replace(config, text=text), counted.tokenizer)
        rows = sum(row_count(file) for file in counted.files)
        need_of(rows * settings.order, rows).check(cache_folder(), order.out)
        size = len(counted.tokenizer)
        engine = order.machine.counting.choose(rows, counted.order, size)  # all columns are read
        tables = cls._tables(task, counted.files, engine, order)
        model = MODELS.choose(config.kind)(tables, settings)
        facts = {"model": model.facts(), "data": counted.data, "validation": None, "samples": []}
        return task, model, facts

    @classmethod
    def _tables(cls, task: Any, files: Sequence[Path], engine: str, order: Order) -> Any:
        return fit_counts(
            files,
            task.config.model,
            order.machine.counting,
            engine=engine,
            vocabulary_size=len(task.tokenizer),
            eos_id=task.tokenizer.eos_id,
            threads=order.machine.threads,
            told=order.told,
        )

    @classmethod
    def go_on(
        cls, path: Path, contents: dict[str, Any], data: str, order: Order, lock: Lock | None
    ) -> Trained:
        raise InputError(f"{path}: a count model trains in one go; there is nothing to resume")

    @classmethod
    def plan(cls, config: RunConfig, data: str, order: Order) -> Plan:
        if order.allowance is not None:
            raise InputError(f"{config.recipe}: counting takes seconds; leave out --budget")
        order.told("reading")
        started = time.perf_counter()
        lesson = cls.prepare(cls.opened(data, config), config, order.told)
        reading = time.perf_counter() - started
        task, ids, settings = lesson.task, lesson.train, config.model
        tokens = round(len(ids) / order.share)
        size, family = len(task.tokenizer), MODELS.choose(config.kind)
        orders = family.orders(settings)
        engine = order.machine.counting.choose(tokens, orders, size)
        order.told("estimating the size")
        need = family.need(ids, settings, eos_id=task.tokenizer.eos_id, tokens=tokens)
        on_disk = engine != MEMORY
        sample = ids[:_SAMPLE]
        started = time.perf_counter()
        with ExitStack() as until_saved:
            cls._fit(task, sample, _with_engine(order, engine), until_saved)
        speed = len(sample) / (time.perf_counter() - started)
        needed = memory_of(tokens, orders, size)
        memory = order.machine.counting.bytes if on_disk else needed
        return Plan(
            recipe=config.recipe,
            data=data,
            parameters=need.ngrams,
            tokens=len(ids),
            vocabulary_size=len(task.tokenizer),
            epochs=1,
            steps=0,
            multiplications=0,
            teraflop=0.0,
            validation_teraflop=0.0,
            tokens_per_second=speed,
            gigaflops=0.0,
            memory_gigabytes=memory / 1e9,
            disk_megabytes=need.run / 1e6,
            seconds=len(ids) / speed,
            threads=order.machine.threads or 1,
            reading_seconds=reading,
            notes=lesson.facts()["data"]["notes"],
            engine=engine,
            work_megabytes=need.work / 1e6 if on_disk else 0.0,
        )


def _with_engine(order: Order, engine: str) -> Order:
    """The same order with this engine, whatever the size of the text."""
    counting = replace(order.machine.counting, engine=engine)
    return replace(order, out=None, machine=replace(order.machine, counting=counting))


def _validate(lesson: Lesson, model: Any, order: Order) -> dict[str, Any] | None:
    """Perplexity on the validation text; `evaluate` measures in full."""
    if lesson.valid is None:
        return None
    memory = order.machine.counting.memory
    if memory is not None and _ASKED * sum(model.facts()["ngrams"]) > memory // 2:
        order.machine.note("not validated: the model is larger than --memory; use elman evaluate")
        return None
    ids = np.asarray(lesson.valid, dtype=np.int64)
    nats = float(-model.log_probs(ids).sum())
    perplexity = math.exp(nats / len(ids)) if math.isfinite(nats) else None
    return {"perplexity": perplexity, "tokens": len(ids)}


def count_text(
    data: str,
    out: Path,
    config: RunConfig,
    order: Order,
    *,
    like: str | Path | None = None,
) -> Counted:
    """Count the n-grams of a text and write them as a folder of counts.

    `like`: a folder of counts or a run whose vocabulary is used.
    """
    order.told("reading")
    known = None if like is None else _task_like(Path(like), config)
    lesson = Counting.prepare(Counting.open(data, config), config, order.told, known)
    task, resources = lesson.task, order.machine.counting
    settings, tokenizer = task.config.model, task.tokenizer
    place = {"eos_id": tokenizer.eos_id, "told": order.told}
    with counted_text(lesson.train, settings, resources, **place) as files:
        counted = Counted(
            tokenizer,
            task.kept(),
            settings.order,
            settings.context,
            as_data(task.config.text),
            lesson.facts()["data"],
            tuple(files),
        )
        order.told("saving")
        write_counts(out, counted, overwrite=order.overwrite)
    for message in counted.data["notes"]:
        order.machine.note(message)
    return counted


def _task_like(folder: Path, config: RunConfig) -> Counting:
    """The task with the vocabulary of a folder of counts or of a run."""
    if is_counts(folder):
        counted = read_counts([folder])
        text = build(TextConfig, counted.text, "text")
        return Counting(replace(config, text=text), counted.tokenizer)
    if not folder.is_dir():
        raise InputError(f"--like {folder}: no such folder; name a folder of counts or a run")
    return Counting.known_from(load(folder), config)


# ARPA files ---------------------------------------------------------------------------------------


def import_arpa(path: str | Path) -> TrainedModel:
    """Import the back-off model of an ARPA file; its words are split at white space."""
    tables, tokens = read_arpa(Path(path))
    # The file does not name the smoothing; the probabilities are used unchanged.
    model = NGram(tables, NgramConfig(order=tables.order, smoothing=IMPORTED))
    config = RunConfig(
        recipe="import",
        seed=0,
        text=TextConfig(tokenizer="words"),
        kind="ngram",
        model=model.config,
    )
    with Path(path).open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    facts = {
        "model": model.facts(),
        "data": {"name": str(path), "sha256": {str(path): sha256}, "notes": []},
        "validation": None,
    }
    return TrainedModel(Counting(config, Words(tokens)), model, facts)
