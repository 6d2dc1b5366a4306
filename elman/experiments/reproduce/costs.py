"""The cost of rows on this machine: planned before they are run, or as measured.

Operations and seconds come from `elman plan`. The seconds of count models are estimated from the
length of the text. If the dataset is missing, the operations are computed from the model and the
published size of the text. Plans are stored, because measuring a few steps takes time.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from elman.experiments.reproduce.registry import PublishedRow, PublishedTable, Tables
from elman.experiments.reproduce.results import Cost, Kept, Result, keep
from elman.experiments.reproduce.trainings import Training, is_finished, trainings_of
from elman.experiments.reproduce.workshop import Workshop
from elman.tasks.task import plan

_SECONDS_PER_CHARACTER = 1e-6  # for counting; a 5-gram on the Penn Treebank takes about 2 s


def plan_rows(workshop: Workshop, rows: Iterable[tuple[PublishedTable, PublishedRow, str]]) -> None:
    """Plan every training that the rows need and whose cost is unknown, and store the cost."""
    known = workshop.known().costs
    wanted = {
        training.cost_name: (table, training, data)
        for table, row, data in rows
        for training in trainings_of(workshop.tables, table, row).values()
        if training.cost_name not in known
    }
    for number, (name, (table, training, data)) in enumerate(wanted.items(), 1):
        workshop.progress(f"planning {name} ({number} of {len(wanted)})")
        cost = _plan(workshop, table, training, data)
        if cost is not None:
            keep(workshop.results, costs={name: cost})


def _plan(workshop: Workshop, table: PublishedTable, training: Training, data: str) -> Cost | None:
    text = training.corpus or data
    if not text:
        from elman.experiments.reproduce.computed_cost import compute_cost  # imports torch

        return compute_cost(training, table)
    if training.config().training is None:
        length = len(training.open(data).split("train").text)
        return Cost(seconds=round(length * _SECONDS_PER_CHARACTER, 1))
    planned = plan(
        training.recipe, data=text, overrides=training.settings, machine=workshop.machine
    )
    return Cost(
        seconds=round(planned.seconds, 1),
        teraflop=float(f"{planned.teraflop:.4g}"),
        parameters=planned.parameters,
        threads=planned.threads,
    )


def spent(result: Result) -> Cost | None:
    """The cost of the training behind a result."""
    if result.training_seconds is None:
        return None
    return Cost(
        seconds=result.training_seconds, teraflop=result.teraflop, parameters=result.parameters
    )


def row_cost(
    tables: Tables, table: PublishedTable, row: PublishedRow, kept: Kept, runs: Path | None = None
) -> Cost | None:
    """The planned cost of all trainings of a row, without those that are finished in `runs`.

    None if one of them was not planned.
    """
    if row.quoted:
        return None if row.teraflop is None else Cost(teraflop=row.teraflop, computed=True)
    needed = {
        training
        for training in trainings_of(tables, table, row).values()
        if runs is None or not is_finished(training, runs)
    }
    costs = [kept.costs.get(training.cost_name) for training in needed]
    known = [cost for cost in costs if cost is not None]
    if len(known) < len(costs):
        return None
    seconds = [cost.seconds for cost in known if cost.seconds is not None]
    operations = [cost.teraflop for cost in known if cost.teraflop is not None]
    return Cost(
        seconds=sum(seconds) if len(seconds) == len(known) else None,
        teraflop=sum(operations) if operations else None,
        computed=any(cost.computed for cost in known),
    )
