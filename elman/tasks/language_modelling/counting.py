"""Language modelling by counting: n-grams of running text. Needs no torch.

Count models can also be imported from ARPA files, the format of KenLM, SRILM and other toolkits;
the format itself and the export are in `formats/`.
"""

import hashlib
import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from elman.counts.estimate import IMPORTED, NgramConfig
from elman.errors import InputError
from elman.evaluation.measures import MeasureTable
from elman.formats.arpa_reader import read_arpa
from elman.models import MODELS
from elman.models.ngram import NGram
from elman.recipes import RunConfig
from elman.runs.claim import claimed
from elman.runs.folder import explained, fill
from elman.runs.lock import Lock
from elman.tasks.language_modelling.text_task import TextTask
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.saved_runs import keep_plugins
from elman.tasks.task import Lesson, Order, Plan
from elman.tasks.trained import Trained
from elman.text.corpora import Corpus
from elman.text.tokenizer import TextConfig
from elman.text.words import Words


class Counting(TextTask):
    """Count and smooth in one go: there are no steps, so nothing to resume."""

    recipe = "ngram"
    maps_arrays = True

    def training_lines(self, facts: dict[str, Any]) -> list[str | MeasureTable]:
        """The n-grams of every order, with their discounts."""
        model = facts["model"]
        every = model["discounts"] or [[]] * len(model["ngrams"])
        rows: list[list[Any]] = [
            [order, count, *(f"{value:.3f}" for value in discounts)]
            for order, (count, discounts) in enumerate(zip(model["ngrams"], every, strict=True), 1)
        ]
        width = max(len(row) for row in rows)
        names = [f"D{i}" if i < width - 2 else f"D{i}+" for i in range(1, width - 1)]
        padded = [row + [None] * (width - len(row)) for row in rows]
        return [MeasureTable(["order", "n-grams", *names], padded)]

    def quantised(self, model: NGram, bits: int) -> dict[str, np.ndarray]:
        """Probabilities of 8 or 32 bits, short keys, and no counts."""
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
        if order.out is None:
            return cls._count(config, data, order)
        with claimed(
            order.out, overwrite=order.overwrite
        ) as claim:  # claim the folder before counting
            trained = cls._count(config, data, order)
            order.told("saving")
            contents = trained.contents()
            with explained(order.out, contents):
                fill(claim.folder, contents)
                claim.publish()
        return trained

    @classmethod
    def _count(cls, config: RunConfig, data: str | Corpus, order: Order) -> Trained:
        started = time.perf_counter()
        order.told("reading")
        lesson = cls.prepare(cls.opened(data, config), config, order.told)
        task, tokenizer = lesson.task, lesson.task.tokenizer
        model = MODELS.choose(config.kind).fit(
            np.asarray(lesson.train, dtype=np.int64),
            config.model,
            vocabulary_size=len(tokenizer),
            eos_id=tokenizer.eos_id,
            progress=order.told,
        )
        order.told("validating")
        facts: dict[str, Any] = {
            "model": model.facts(),
            **lesson.facts(),
            "validation": _validate(lesson, model),
            "seconds": round(time.perf_counter() - started, 3),
        }
        keep_plugins(facts, task.config)
        for message in [*facts["data"]["notes"], *facts["model"].get("notes", [])]:
            order.machine.note(message)
        trained: Trained = task.trained_class(task, model, facts)
        return trained

    @classmethod
    def go_on(
        cls, path: Path, contents: dict[str, Any], data: str, order: Order, lock: Lock | None
    ) -> Trained:
        raise InputError(f"{path}: a count model trains in one go; there is nothing to resume")

    @classmethod
    def plan(cls, config: RunConfig, data: str, order: Order) -> Plan:
        raise InputError(
            f"{config.recipe}: counting takes seconds; elman plan is for neural models"
        )


def _validate(lesson: Lesson, model: Any) -> dict[str, Any] | None:
    """Perplexity on the validation text; `evaluate` measures in full."""
    if lesson.valid is None:
        return None
    ids = np.asarray(lesson.valid, dtype=np.int64)
    nats = float(-model.log_probs(ids).sum())
    perplexity = math.exp(nats / len(ids)) if math.isfinite(nats) else None
    return {"perplexity": perplexity, "tokens": len(ids)}


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
    sha256 = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    facts = {
        "model": model.facts(),
        "data": {"name": str(path), "sha256": {str(path): sha256}, "notes": []},
        "validation": None,
    }
    return TrainedModel(Counting(config, Words(tokens)), model, facts)
