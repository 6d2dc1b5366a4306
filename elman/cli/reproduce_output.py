"""What `elman reproduce` prints: the tables, one row in full, and which rows come next.

Takes what is known about rows, prints tables or JSON; called by `reproduce.py`.
"""

from elman.cli.output import duration, print_json, print_table
from elman.experiments.reproduce.costs import spent
from elman.experiments.reproduce.ranking import Ranked
from elman.experiments.reproduce.registry import PublishedRow, PublishedTable
from elman.experiments.reproduce.report import evidence, figure, training_cost, way
from elman.experiments.reproduce.results import Result
from elman.experiments.reproduce.status import Status, statuses
from elman.experiments.reproduce.workshop import Workshop

_SHOWN = 10  # rows that come next


def print_next(ranked: list[Ranked], *, json: bool, all_of_them: bool = False) -> None:
    """Which rows come next, and what they cost."""
    if json:
        print_json(
            [
                {
                    "table": one.job.table.name,
                    "row": one.job.row.name,
                    "seed": one.job.number,
                    "trainings": [*one.needed],
                    "cost": one.cost,
                    "seconds": one.seconds,
                    "value_per_hour": one.per_hour,
                }
                for one in ranked
            ]
        )
        return
    if not ranked:
        print("no rows left to run")
        return
    shown = ranked if all_of_them else ranked[:_SHOWN]
    lines = [
        [one.job.name, str(one.cost) if one.needed else "trained", f"{one.per_hour:.2g}"]
        for one in shown
    ]
    print_table(["next", "left to train", "value per hour"], lines)
    trainings = {name: one for one in ranked for name in one.needed}
    alone = {name: one for name, one in trainings.items() if len(one.needed) == 1}
    total = sum(one.cost.seconds or 0.0 for one in alone.values())
    print(
        f"{len(ranked)} rows are left, {len(ranked) - len(shown)} of them not shown; "
        f"their {len(trainings)} trainings take about {duration(total)}"
    )


def print_result(table: PublishedTable, row: PublishedRow, result: Result) -> None:
    """Print the published and measured figure, the verdict and the protocol."""
    lines = [["published", f"{figure(table, row.published)} ({row.source or table.source})"]]
    if row.published is None:
        lines = []
    measured = figure(table, result.measured, measured=True)
    if result.spread is not None:
        measured += f" ± {figure(table, result.spread, measured=True)}"
    lines += [["measured", measured], ["verdict", result.verdict], ["how", way(row)]]
    if len(result.by_seed()) > 1:
        seeds = (
            f"{seed}: {figure(table, value, measured=True)}"
            for seed, value in result.by_seed().items()
        )
        lines.insert(-2, ["seeds", ", ".join(seeds)])
    if row.note:
        lines.append(["note", row.note])
    lines.append(["protocol", result.protocol])
    if result.data:
        lines.append(["text", f"{result.split}, sha256:{result.data[result.split]}"])
    lines += [["run", f"seed {seed}, sha256:{run}"] for seed, run in result.runs.items()]
    cost = spent(result)
    lines.append(["trained in", f"{cost or '–'} (elman {result.elman}, {result.date})"])
    print_table([f"{table.name} {row.name}", row.about], lines)
    print(flush=True)


def print_tables(workshop: Workshop, chosen: list[PublishedTable], json: bool) -> None:
    """List the rows with their figures, verdicts and costs."""
    rows = statuses(workshop.tables, chosen, workshop.known())
    if json:
        print_json([status.to_data() for status in rows])
        return
    for table in chosen:
        print(f"{table.name}: {table.title} ({table.source}; {table.metric})")
        header = ["row", "model", "published", "measured", "verdict", "training"]
        header += ["evidence"] if len(chosen) == 1 else []
        lines = [
            _list_line(status, alone=len(chosen) == 1) for status in rows if status.table is table
        ]
        print_table(header, lines)
        print()
    print("run one: elman reproduce ptb --row kn5 --data FOLDER; all: elman reproduce --budget 12h")


def _list_line(status: Status, *, alone: bool) -> list[str]:
    """A row of the list; `alone`: its table is shown alone, so there is room for more columns."""
    table, row, result = status.table, status.row, status.result
    short = not alone and bool(row.quoted)  # reasons are long
    line = [
        row.name,
        row.about,
        figure(table, row.published),
        figure(table, result.measured if result else None, measured=True),
        status.verdict.kind if short else str(status.verdict),
        str(status.cost or "–") if short else training_cost(status) or "–",
    ]
    return [*line, evidence(result) if result else ""] if alone else line
