"""Measure one row: from its recipe to a stored result.

A `Result` contains the figure on the test text with its protocol, the hashes of the text and of the
run, and the verdict. The trainings that the row needs are run first, then adapters are fitted.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from elman.errors import InputError, choose
from elman.experiments.reproduce.experiments import measure_experiment
from elman.experiments.reproduce.registry import (
    PERPLEXITIES,
    PublishedRow,
    PublishedTable,
    fill_in,
)
from elman.experiments.reproduce.results import Kept, Result, update_kept
from elman.experiments.reproduce.status import obstacle, verdict_on
from elman.experiments.reproduce.trainings import Training, ensure, hash_run, trainings_of
from elman.experiments.reproduce.workshop import Workshop
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.task import Kind
from elman.tasks.trained import Trained
from elman.training.progress import tally
from elman.version import __version__


def reproduce_row(
    workshop: Workshop, table: PublishedTable, row: PublishedRow, data: str, *, again: bool = False
) -> Result:
    """The result of a row over all its seeds. Missing seeds are measured; with `again`, all are."""
    for number in range(row.seeds):
        if again or number in missing_seeds(workshop, table, row, workshop.kept()):
            measure_and_keep(workshop, table, row, data, number)
    result = workshop.kept().of(table, row)
    assert result is not None, "it was stored just before"
    return result


def missing_seeds(
    workshop: Workshop, table: PublishedTable, row: PublishedRow, kept: Kept
) -> list[int]:
    """The numbers of the seeds that have no result; an experiment has one number for all seeds."""
    result = kept.of(table, row)
    if result is None:
        return list(range(row.seeds))
    if row.seeds == 1:
        return []
    there = result.by_seed()
    own = (trainings_of(workshop.tables, table, row, number)[""] for number in range(row.seeds))
    return [training.number for training in own if str(training.seed()) not in there]


def measure_and_keep(
    workshop: Workshop, table: PublishedTable, row: PublishedRow, data: str, number: int = 0
) -> Result:
    """Measure a row with one of its seeds and store the figure with those of the other seeds."""
    result = measure_row(workshop, table, row, data, number)

    def add(kept: Kept) -> None:
        nonlocal result
        kept.follow_renamed_rows(workshop.tables)
        before = kept.of(table, row)
        if before is not None and row.seeds > 1:
            result = result.with_seeds_of(before)
        kept.add(result)
        _judge(table, row, result, kept)

    update_kept(workshop.results, add)
    return result


def _judge(table: PublishedTable, row: PublishedRow, result: Result, kept: Kept) -> None:
    """Set the verdict, and update the verdicts of all rows whose order is compared with it."""
    result.verdict = str(verdict_on(table, row, result, kept))
    for other in table.rows:
        there = kept.of(table, other) if row.order and other.order == row.order else None
        if there is not None:
            there.verdict = str(verdict_on(table, other, there, kept))


def measure_row(
    workshop: Workshop, table: PublishedTable, row: PublishedRow, data: str, number: int = 0
) -> Result:
    """Measure a row on the dataset `data`, without storing or judging the result."""
    reason = obstacle(row)
    if reason:
        raise InputError(f"{table.name} {row.name}: {reason}")
    measure = _measure_experiment if row.experiment else _measure_recipe
    return measure(workshop, table, row, data, number)


def _measure_recipe(
    workshop: Workshop, table: PublishedTable, row: PublishedRow, data: str, number: int
) -> Result:
    needed = trainings_of(workshop.tables, table, row, number)
    measure = _perplexity if table.metric in PERPLEXITIES else _score
    trained, found = measure(workshop, table, row, needed, data)
    facts, seed = trained.facts, trained.config.seed
    corpus = needed[""].open(data)
    return Result(
        **found,
        figures={str(seed): found["measured"]},
        recipe=row.recipe,
        settings=row.settings,
        adapters=row.adapters,
        starts_from=row.starts_from,
        seed=seed,
        parameters=facts["model"].get("parameters"),
        data={split: document.sha256() for split, document in corpus.documents.items()},
        runs=_hashes(workshop, {str(seed): needed[""]}),
        training_seconds=facts["seconds"],
        teraflop=facts.get("training", {}).get("teraflop"),
        **_about(table, row),
    )


Needed = dict[str, Training]  # by reference; the row's own under ""


def _perplexity(
    workshop: Workshop, table: PublishedTable, row: PublishedRow, needed: Needed, data: str
) -> tuple[Trained, dict[str, Any]]:
    """Train a language model, fit its adapters and score it: the model and its figures."""
    trained = _train_all(workshop, needed, data, TrainedModel)
    started = time.perf_counter()
    paths = {name: str(workshop.runs / training.name) for name, training in needed.items()}
    adapters = [fill_in(adapter, paths) for adapter in row.adapters]
    adapted = trained.with_adapters(adapters, data, progress=_tokens(workshop, "fitting"))
    measurement = adapted.evaluate(
        data, split=row.split, progress=_tokens(workshop, f"scoring the {row.split} text")
    )
    validation = None if row.adapters else trained.facts["validation"]
    return trained, {
        "measured": _as_metric(table, measurement.perplexity),
        "valid": _as_metric(table, validation["perplexity"]) if validation else None,
        "model": adapted.model.describe() if row.adapters else {},
        "protocol": str(measurement.protocol),
        "tokens": measurement.tokens,
        "evaluation_seconds": round(time.perf_counter() - started, 1),
    }


def _score(
    workshop: Workshop, table: PublishedTable, row: PublishedRow, needed: Needed, data: str
) -> tuple[Trained, dict[str, Any]]:
    """Train a model of another task and measure it by the metric of the table."""
    if row.adapters:
        raise InputError(f"{table.name} {row.name}: adapters are for language models")
    trained = _train_all(workshop, needed, data, Trained)
    started = time.perf_counter()
    workshop.progress(f"measuring the {row.split} split")
    measures = trained.evaluate(data, split=row.split)
    measured = choose(dict(measures.rows()), table.metric, f"measure of {trained.name}")
    return trained, {
        "measured": float(measured),
        "protocol": " · ".join(measures.footnotes()),
        "evaluation_seconds": round(time.perf_counter() - started, 1),
    }


def _train_all(workshop: Workshop, needed: Needed, data: str, kind: type[Kind]) -> Kind:
    """Train what is missing, one model in memory at a time; gives the row's own, which is last."""
    *others, own = reversed(needed.values())
    settings: dict[str, Any] = {"machine": workshop.machine, "progress": workshop.progress}
    for training in others:
        ensure(training, data, workshop.runs, **settings)
    trained = ensure(own, data, workshop.runs, kind=kind, **settings)
    workshop.set_threads()
    return trained


def _measure_experiment(
    workshop: Workshop, table: PublishedTable, row: PublishedRow, data: str, number: int
) -> Result:
    needed = trainings_of(workshop.tables, table, row)
    for training in needed.values():
        workshop.progress(f"training {training.name}")
        ensure(training, "", workshop.runs, machine=workshop.machine, progress=workshop.progress)
    workshop.set_threads()
    outcome = measure_experiment(row, workshop.runs)
    figures = list(outcome.figures.values())
    return Result(
        measured=outcome.mean,
        spread=statistics.stdev(figures) if len(figures) > 1 else None,
        figures=dict(outcome.figures),
        experiment=row.trial,
        protocol=outcome.about,
        parameters=outcome.parameters,
        runs=_hashes(workshop, {str(one.number): one for one in needed.values()}),
        training_seconds=round(outcome.seconds, 1),
        **_about(table, row),
    )


def _about(table: PublishedTable, row: PublishedRow) -> dict[str, Any]:
    """The fields that every result has: table, row, version and date."""
    return {
        "table": table.name,
        "row": row.name,
        "metric": table.metric,
        "published": row.published,
        "verdict": "",
        "split": row.split,
        "elman": __version__,
        "date": datetime.now(UTC).date().isoformat(),
    }


def _hashes(workshop: Workshop, trainings: dict[str, Training]) -> dict[str, str]:
    return {seed: hash_run(workshop.runs / one.name) for seed, one in trainings.items()}


def _as_metric(table: PublishedTable, perplexity: float | None) -> float | None:
    """Convert a perplexity to the metric of the table; None if it is infinite."""
    if perplexity is None or not math.isfinite(perplexity):
        return None
    return math.log(perplexity) if table.metric == "nats" else perplexity


def _tokens(workshop: Workshop, what: str) -> Callable[[int, int], None]:
    """Report progress in tokens as lines of text."""
    add = tally()  # fitting reads the text once per model

    def say(amount: int, total: int) -> None:
        workshop.progress(f"{what}: {add(amount, total):,} of {total:,} tokens")

    return say
