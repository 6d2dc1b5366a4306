"""What trainings cost here, before they are begun; kept, since measuring a few steps takes time.

Takes trainings and their text, gives a `Cost` for each: operations and seconds as `elman plan`
finds them; for models that count, seconds by the length of the text.
"""

from __future__ import annotations

from elman.reproduce.data import open_data
from elman.reproduce.measuring import Workshop
from elman.reproduce.registry import Row, Table
from elman.reproduce.results import Cost, keep, read_kept
from elman.reproduce.trainings import Training, trainings_of

_SECONDS_PER_CHARACTER = 1e-6  # of counting; a 5-gram of the Penn Treebank takes about two seconds


def plan_rows(workshop: Workshop, rows: list[tuple[Table, Row, str]]) -> None:
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
    from elman.tasks.planning import plan

    planned = plan(
        training.recipe, data=data, overrides=training.settings, machine=workshop.machine
    )
    return Cost(
        seconds=round(planned.seconds, 1),
        teraflop=float(f"{planned.teraflop:.4g}"),
        parameters=planned.parameters,
        threads=planned.threads,
    )
