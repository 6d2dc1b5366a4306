"""`elman reproduce`: published tables row by row, measured here, with a verdict."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from elman.cli.arguments import Device, Json, Threads
from elman.cli.output import duration, note, print_json, print_table, watched
from elman.errors import InputError, choose
from elman.experiments.reproduce.budget import fill_budget, left_over, parse_budget
from elman.experiments.reproduce.costs import plan_rows, spent
from elman.experiments.reproduce.data import require_data, rows_with_text
from elman.experiments.reproduce.measuring import reproduce_row
from elman.experiments.reproduce.registry import PublishedRow, PublishedTable, Tables, read_tables
from elman.experiments.reproduce.report import figure, rewrite, way
from elman.experiments.reproduce.results import Result, read_kept
from elman.experiments.reproduce.status import Status, obstacle, statuses
from elman.experiments.reproduce.workshop import Workshop
from elman.training.processes import Processes

_BUDGET = (
    "Run all rows whose trainings fit into this time (45s, 30m, 2h), the cheapest first, leaving "
    "out those that have a result. Planning and measuring count as well."
)
_FOLDER = (
    "The folder of the table's text, or one that holds such folders under the names of the texts "
    "(ptb, lm1b); that folder may also be named in the environment variable ELMAN_DATA."
)


@Parameter(name="*")
@dataclass(kw_only=True)
class Order:
    """What is to be done with the tables, and where what is found is kept."""

    row: tuple[str, ...] = ()
    "Run this row of the table. May be given several times."
    budget: Annotated[str, Parameter(help=_BUDGET, allow_leading_hyphen=True)] = ""
    data: Annotated[str, Parameter(help=_FOLDER)] = ""
    plan: bool = False
    "Find what the trainings cost here, as elman plan does, and keep that."
    again: bool = False
    "Measure rows again that have a result; trainings that are done are not done again."
    out: str = "reproduced"
    "The folder for runs and results."
    results: str = ""
    "The file of results, if not results.json in that folder."
    write: str = ""
    "Write the tables into this Markdown file, between its two marks."

    @property
    def file(self) -> Path:
        """The file of results."""
        return Path(self.results) if self.results else Path(self.out) / "results.json"

    def refuse_contradictions(self, table: str | None) -> None:
        """Say which options do not go together."""
        if self.row and table is None:
            raise InputError(
                f"--row {self.row[0]}: name its table first, as in elman reproduce ptb --row …"
            )
        if self.row and self.budget:
            raise InputError("--row runs these rows, --budget those that fit; give one of the two")
        if self.again and not self.row:
            raise InputError(
                "--again is for rows that are named: elman reproduce TABLE --row ROW …"
            )
        if self.write and (self.row or self.budget or self.plan):
            raise InputError("--write writes what is kept; run rows first, then write")


def reproduce(
    table: str | None = None,
    /,
    *,
    order: Order | None = None,
    device: Device = "cpu",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Reproduce tables of published figures: list them, run rows, compare.

    Trainings are kept in the folder --out: what was stopped goes on, what is done is not done
    again, and rows that need the same training share it. Verdicts: reproduced (as near as the
    row's tolerance), better, within x % (worse by x, at most 10), not reached, not run, quoted
    only.

    For example:
      elman reproduce
      elman reproduce ptb
      elman reproduce ptb --row kn5 --row kn5-cache --data ptb-folder
      elman reproduce ptb --plan --data ptb-folder
      elman reproduce ptb --budget 30m --data ptb-folder
      elman reproduce --write docs/results.md --results docs/results.json

    Parameters
    ----------
    table
        The table; none: all of them.
    """
    order = order or Order()
    tables = read_tables()
    chosen = [*tables.values()] if table is None else [choose(tables, table, "table")]
    read_kept(order.file)  # a file that cannot be used is refused before the work
    order.refuse_contradictions(table)
    if order.write:
        _write(Path(order.write), tables, order.file, json)
    elif order.row or order.budget or order.plan:
        with _workshop(tables, order, {"device": device, "threads": threads}) as workshop:
            _work(workshop, chosen, order, named=table is not None, json=json)
    else:
        _list(tables, chosen, order.file, json)


def _work(
    workshop: Workshop, chosen: list[PublishedTable], order: Order, *, named: bool, json: bool
) -> None:
    """Run rows, or plan them; `named`: of a table that the user has named."""
    if order.row:
        _run(workshop, chosen[0], order, json)
        return
    seconds = parse_budget(order.budget) if order.budget else 0.0
    rows, absent = rows_with_text(chosen, order.data, holds=not named)
    for table in absent:
        note(f"{table.name}: the text {table.data!r} is not here, its rows are left out")
    if order.budget:
        _fill(workshop, rows, seconds, json)
        return
    plan_rows(workshop, rows)
    _list(workshop.tables, chosen, workshop.results, json)


@contextmanager
def _workshop(tables: Tables, order: Order, settings: dict[str, Any]) -> Iterator[Workshop]:
    """A place to work, with a line that shows what is being done."""
    with watched({**settings, "processes": Processes()}) as (machine, progress):
        yield Workshop(tables, Path(order.out), order.file, machine, progress)


def _run(workshop: Workshop, table: PublishedTable, order: Order, json: bool) -> None:
    """Run rows of a table and say how each came out."""
    rows = [table.row(name) for name in order.row]
    for row in rows:  # all of them before the long work
        reason = obstacle(row)
        if reason:
            raise InputError(f"{table.name} {row.name}: {reason}")
    text = require_data(table, order.data) if any(row.recipe for row in rows) else ""
    found = []
    for row in rows:
        found.append(reproduce_row(workshop, table, row, text, again=order.again))
        if not json:
            _print_result(table, row, found[-1])
    if json:
        print_json(found)
    elif any(row.experiment for row in rows):  # only now their order is known
        _list(workshop.tables, [table], workshop.results, json)


def _fill(
    workshop: Workshop,
    rows: list[tuple[PublishedTable, PublishedRow, str]],
    seconds: float,
    json: bool,
) -> None:
    """Run what fits, and say what did not."""
    found = []
    for result in fill_budget(workshop, rows, seconds):
        found.append(result)
        if not json:
            table = workshop.tables[result.table]
            _print_result(table, table.row(result.row), result)
    if json:
        print_json(found)
        return
    others = left_over(workshop, rows)
    if others:
        print_table(["did not fit", "costs"], others)
    print(f"{len(found)} rows run, {len(others)} did not fit into {duration(seconds)}")


def _print_result(table: PublishedTable, row: PublishedRow, result: Result) -> None:
    """Published, measured, verdict, and how the figure was obtained."""
    lines = [["published", f"{figure(table, row.published)} ({row.source or table.source})"]]
    if row.published is None:
        lines = []
    measured = figure(table, result.measured, measured=True)
    if result.spread is not None:
        measured += f" ± {figure(table, result.spread, measured=True)}"
    lines += [["measured", measured], ["verdict", result.verdict], ["how", way(row)]]
    if row.note:
        lines.append(["note", row.note])
    lines.append(["protocol", result.protocol])
    if result.data:
        lines.append(["text", f"{result.split}, sha256:{result.data[result.split]}"])
    cost = spent(result)
    lines.append(["trained in", f"{cost or '–'} (elman {result.elman}, {result.date})"])
    print_table([f"{table.name} {row.name}", row.about], lines)
    print()


def _list(tables: Tables, chosen: list[PublishedTable], path: Path, json: bool) -> None:
    """The rows with what is known of them."""
    rows = statuses(tables, chosen, read_kept(path))
    if json:
        print_json([_as_data(status) for status in rows])
        return
    for table in chosen:
        print(f"{table.name}: {table.title} ({table.source}; {table.metric})")
        lines = []
        for status in rows:
            if status.table is not table:
                continue
            row, result = status.row, status.result
            short = result is None and len(chosen) > 1  # reasons are long
            lines.append(
                [
                    row.name,
                    row.about,
                    figure(table, row.published),
                    figure(table, result.measured if result else None, measured=True),
                    status.verdict.kind if short else str(status.verdict),
                    str(status.cost or "–"),
                ]
            )
        print_table(["row", "model", "published", "measured", "verdict", "training"], lines)
        print()
    print("run one: elman reproduce ptb --row kn5 --data FOLDER; costs: elman reproduce ptb --plan")


def _as_data(status: Status) -> dict[str, Any]:
    """A status as plain data."""
    return {
        "table": status.table.name,
        "metric": status.table.metric,
        "row": status.row,
        "verdict": {"kind": status.verdict.kind, "text": str(status.verdict)},
        "cost": status.cost,
        "result": status.result,
    }


def _write(page: Path, tables: Tables, results: Path, json: bool) -> None:
    rewrite(page, tables, read_kept(results))
    if json:
        print_json({"page": str(page), "results": str(results)})
        return
    print(f"wrote the tables into {page}, from {results}")
