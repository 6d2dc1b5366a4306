"""What rows cost here: planned before they are begun, or as they were.

Takes rows and their texts, gives a `Cost` for each: operations and seconds as `elman plan` finds
them; for models that count, seconds by the length of the text. Plans are kept, since measuring a
few steps takes time.
"""

from __future__ import annotations

from pathlib import Path

from elman.experiments.reproduce.data import open_data
from elman.experiments.reproduce.registry import PublishedRow, PublishedTable, Tables
from elman.experiments.reproduce.results import Cost, Kept, Result, keep, read_kept
from elman.experiments.reproduce.trainings import Training, is_finished, trainings_of
from elman.experiments.reproduce.workshop import Workshop
from elman.tasks.task import plan

_SECONDS_PER_CHARACTER = 1e-6  # of counting; a 5-gram of the Penn Treebank takes about two seconds


def plan_rows(workshop: Workshop, rows: list[tuple[PublishedTable, PublishedRow, str]]) -> None:
    """Plan every training that the rows need and whose cost is not kept yet, and keep it."""
    known = read_kept(workshop.results).costs
    wanted = {
        training.name: (training, data)
        for table, row, data in rows
        if row.recipe
        for training in trainings_of(workshop.tables, table, row).values()
        if training.name not in known
    }
    for number, (name, (training, data)) in enumerate(wanted.items(), 1):
        workshop.progress(f"planning {name} ({number} of {len(wanted)})")
        keep(workshop.results, costs={name: _plan(workshop, training, data)})


def _plan(workshop: Workshop, training: Training, data: str) -> Cost:
    if training.config().training is None:
        length = len(open_data(data).split("train").text)
        return Cost(seconds=round(length * _SECONDS_PER_CHARACTER, 1))
    planned = plan(
        training.recipe, data=data, overrides=training.settings, machine=workshop.machine
    )
    return Cost(
        seconds=round(planned.seconds, 1),
        teraflop=float(f"{planned.teraflop:.4g}"),
        parameters=planned.parameters,
        threads=planned.threads,
    )


def spent(result: Result) -> Cost | None:
    """What a result has cost to train."""
    if result.training_seconds is None:
        return None
    return Cost(
        seconds=result.training_seconds, teraflop=result.teraflop, parameters=result.parameters
    )


def row_cost(
    tables: Tables, table: PublishedTable, row: PublishedRow, kept: Kept, runs: Path | None = None
) -> Cost | None:
    """The planned cost of a row's trainings together, without those that are finished in `runs`.

    None if one of them was never planned.
    """
    if not row.recipe:
        return None
    needed = {
        training
        for training in trainings_of(tables, table, row).values()
        if runs is None or not is_finished(training, runs)
    }
    costs = [kept.costs.get(training.name) for training in needed]
    known = [cost for cost in costs if cost is not None]
    if len(known) < len(costs):
        return None
    operations = [cost.teraflop for cost in known if cost.teraflop is not None]
    return Cost(
        seconds=sum(cost.seconds for cost in known),
        teraflop=sum(operations) if operations else None,
    )
