"""One row, from its recipe to a result that is kept.

Takes a table, a row and a place, gives a `Result`: the trainings that it needs, the adapters, the
figure on the test text with its protocol and the hashes of the text, the verdict.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from elman.errors import InputError
from elman.experiments.reproduce.data import open_data
from elman.experiments.reproduce.experiments import run_experiment
from elman.experiments.reproduce.registry import PublishedRow, PublishedTable, fill_in
from elman.experiments.reproduce.results import Kept, Result, keep, read_kept, write_kept
from elman.experiments.reproduce.status import obstacle, verdict_on
from elman.experiments.reproduce.trainings import ensure, trainings_of
from elman.experiments.reproduce.workshop import Workshop
from elman.version import __version__


def reproduce_row(
    workshop: Workshop, table: PublishedTable, row: PublishedRow, data: str, *, again: bool = False
) -> Result:
    """The result of a row: the kept one, or measured (`again`: in any case) and kept."""
    kept = read_kept(workshop.results)
    found = kept.of(table, row)
    if found is not None and not again:
        return found
    result = measure_row(workshop, table, row, data, kept)
    keep(workshop.results, result=result)
    if row.experiment:
        _judge_again(workshop.results, table, row.task)
    return result


def _judge_again(path: Path, table: PublishedTable, task: str) -> None:
    """Verdicts on an order change when another row has its place in it."""
    kept = read_kept(path)
    for row in table.rows:
        result = kept.of(table, row) if row.task == task else None
        if result is not None:
            result.verdict = str(verdict_on(table, row, result, kept))
    write_kept(path, kept)


def measure_row(
    workshop: Workshop, table: PublishedTable, row: PublishedRow, data: str, kept: Kept
) -> Result:
    """Measure a row on the text in `data`; nothing is kept yet."""
    reason = obstacle(row)
    if reason:
        raise InputError(f"{table.name} {row.name}: {reason}")
    measure = _measure_experiment if row.experiment else _measure_recipe
    result = measure(workshop, table, row, data)
    result.verdict = str(verdict_on(table, row, result, kept))
    return result


def _measure_recipe(
    workshop: Workshop, table: PublishedTable, row: PublishedRow, data: str
) -> Result:
    corpus = open_data(data)
    trained, paths = None, {}
    needed = trainings_of(workshop.tables, table, row)
    for reference in reversed(needed):  # its own last, so that one model is in memory
        trained = ensure(
            needed[reference],
            corpus,
            workshop.runs,
            machine=workshop.machine,
            progress=workshop.progress,
        )
        paths[reference] = str(workshop.runs / needed[reference].name)
    assert trained is not None, "a row has at least its own training"
    started = time.perf_counter()
    adapters = [fill_in(adapter, paths) for adapter in row.adapters]
    adapted = trained.with_adapters(adapters, data, progress=_tokens(workshop, "fitting"))
    measurement = adapted.evaluate(
        data, split=row.split, progress=_tokens(workshop, f"scoring the {row.split} text")
    )
    facts = trained.facts
    validation = None if row.adapters else facts["validation"]
    return Result(
        table=table.name,
        row=row.name,
        metric=table.metric,
        published=row.published,
        measured=_as_metric(table, measurement.perplexity),
        valid=_as_metric(table, validation["perplexity"]) if validation else None,
        verdict="",
        recipe=row.recipe,
        settings=row.settings,
        adapters=row.adapters,
        seed=trained.config.seed,
        model=adapted.model.describe() if row.adapters else {},
        parameters=facts["model"].get("parameters"),
        protocol=str(measurement.protocol),
        split=row.split,
        tokens=measurement.tokens,
        data={split: document.sha256() for split, document in corpus.documents.items()},
        training_seconds=facts["seconds"],
        evaluation_seconds=round(time.perf_counter() - started, 1),
        teraflop=facts.get("training", {}).get("teraflop"),
        elman=__version__,
        date=datetime.now(UTC).date().isoformat(),
    )


def _measure_experiment(
    workshop: Workshop, table: PublishedTable, row: PublishedRow, data: str
) -> Result:
    outcome = run_experiment(row, workshop.runs, workshop.progress)
    return Result(
        table=table.name,
        row=row.name,
        metric=table.metric,
        published=row.published,
        measured=outcome.mean,
        spread=outcome.spread,
        verdict="",
        experiment=row.trial,
        split=row.split,
        protocol=outcome.about,
        parameters=outcome.parameters,
        training_seconds=round(outcome.seconds, 1),
        elman=__version__,
        date=datetime.now(UTC).date().isoformat(),
    )


def _as_metric(table: PublishedTable, perplexity: float | None) -> float | None:
    """A perplexity in the unit of the table; None: infinite."""
    if perplexity is None or not math.isfinite(perplexity):
        return None
    return math.log(perplexity) if table.metric == "nats" else perplexity


def _tokens(workshop: Workshop, what: str) -> Callable[[int, int], None]:
    """Progress in tokens as lines of text."""
    done = 0

    def say(amount: int, total: int) -> None:
        nonlocal done
        done = done % total + amount  # fitting goes through the text once per model
        workshop.progress(f"{what}: {done:,} of {total:,} tokens")

    return say
