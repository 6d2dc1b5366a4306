"""`elman reproduce`: measure the rows of published tables here and judge the results."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from elman.cli.arguments import Device, Json, Threads
from elman.cli.output import note, print_json, tell, watched
from elman.cli.reproduce_output import print_next, print_result, print_tables
from elman.errors import InputError
from elman.experiments.reproduce.costs import plan_rows
from elman.experiments.reproduce.data import require_data, rows_with_text
from elman.experiments.reproduce.deadline import Deadline
from elman.experiments.reproduce.measuring import reproduce_row
from elman.experiments.reproduce.page import write_page
from elman.experiments.reproduce.queue import Rows, work_off
from elman.experiments.reproduce.ranking import pending_jobs, rank_jobs
from elman.experiments.reproduce.registry import PublishedTable, Tables, named_tables
from elman.experiments.reproduce.report import rewrite
from elman.experiments.reproduce.results import Kept, Result, read_kept, update_kept
from elman.experiments.reproduce.status import obstacle, renew_verdicts
from elman.experiments.reproduce.workers import CHOICES, run_workers, share_out
from elman.experiments.reproduce.workshop import Workshop
from elman.training.budget import parse_time
from elman.training.processes import Processes

_BUDGET = (
    "Run all rows without a result here until this time is over (45s, 30m, 2h), starting with the "
    "rows that give the most results per hour. A training that does not fit starts only if nothing "
    "else fits; the next call continues it. The time includes planning and measuring."
)
_FIRST = (
    "With --budget: start with the rows that match this pattern, such as 'ours/quick*'. Can be "
    "repeated; the order counts."
)
_WORKERS = (
    "With --budget: train one model at a time or two in parallel. auto measures for some seconds "
    "which is faster here and stores the choice in the folder --out."
)
_FOLDER = (
    "The folder of the table's dataset, or a folder that contains the datasets as subfolders named "
    "ptb, lm1b and so on. Default: the environment variable ELMAN_DATA."
)
_WRITE = (
    "Write the tables with their results to this file: a page (.html), the part between the two "
    "marks of a Markdown file (.md), or data (.json)."
)


@Parameter(name="*")
@dataclass(kw_only=True)
class Order:
    """What to do with the tables, and where to store results."""

    row: tuple[str, ...] = ()
    "Run this row of the table. Can be repeated."
    budget: Annotated[str, Parameter(help=_BUDGET, allow_leading_hyphen=True)] = ""
    first: Annotated[tuple[str, ...], Parameter(help=_FIRST)] = ()
    workers: Annotated[str, Parameter(help=_WORKERS)] = "auto"
    next: bool = False
    "Show the rows that --budget would run next, and their costs."
    data: Annotated[str, Parameter(help=_FOLDER)] = ""
    plan: bool = False
    "Estimate the cost of the trainings here, as elman plan does, and store it."
    again: bool = False
    "Measure rows again that already have a result. Finished trainings are reused."
    out: str = "reproduced"
    "The folder for runs and results."
    results: str = ""
    "The file for the results. Default: results.json in the folder --out."
    write: Annotated[str, Parameter(help=_WRITE)] = ""
    worker: Annotated[bool, Parameter(show=False)] = False  # started by another one
    tables: Annotated[tuple[str, ...], Parameter(parse=False)] = field(default=())

    @property
    def file(self) -> Path:
        """The results file."""
        return Path(self.results) if self.results else Path(self.out) / "results.json"

    def refuse_contradictions(self) -> None:
        """Refuse options that contradict each other."""
        if self.row and len(self.tables) != 1:
            raise InputError(
                f"--row {self.row[0]}: name the table first, as in elman reproduce ptb --row …"
            )
        for other in ("budget", "next"):
            if self.row and getattr(self, other):
                raise InputError(f"--row and --{other} both choose rows; give only one of them")
        if self.again and not self.row:
            raise InputError("--again needs rows to measure: elman reproduce TABLE --row ROW …")
        if self.write and (self.row or self.budget or self.plan or self.next):
            raise InputError("--write writes stored results; run rows first, then write")
        if self.workers not in CHOICES:
            raise InputError(f"--workers {self.workers}: must be auto, 1 or 2")
        if self.first and not (self.budget or self.next):
            raise InputError("--first sets the order of the queue; give --budget or --next too")

    def as_arguments(self, seconds: float, threads: int | None, device: str) -> list[str]:
        """The arguments of a worker that shares this work."""
        options = {"budget": f"{seconds:.0f}s", "workers": "1", "out": self.out, "device": device}
        given = {"data": self.data, "results": self.results, "threads": threads}
        options |= {name: str(value) for name, value in given.items() if value}
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        words += [word for pattern in self.first for word in ("--first", pattern)]
        return ["reproduce", *self.tables, *words, "--worker"]


def reproduce(
    *tables: str,
    order: Order | None = None,
    device: Device = "cpu",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Reproduce published result tables: list them, run rows, compare.

    The results that ship with elman are shown until the folder --out has results of its own. It
    also stores the trainings: interrupted ones continue, finished ones are reused, and rows that
    need the same training share it. Several commands can use the folder at the same time. Verdicts:
    reproduced (within the row's tolerance), better, within x % (worse by x, at most 10), not
    reached, order holds or differs or is not decided (for rows that are compared with each other),
    ours (a recipe of elman, shown beside the publication and not judged), not run, quoted.

    For example:
      elman reproduce
      elman reproduce ptb
      elman reproduce ptb --row kn5 --row kn5-cache --data ptb-folder
      elman reproduce ptb --plan --data ptb-folder
      elman reproduce ptb ours --budget 12h --data texts
      elman reproduce ptb ours --next --data texts
      elman reproduce --write tables.html

    Parameters
    ----------
    tables
        The tables, by name or as TOML files of your own. Default: all tables that ship with elman.
    """
    order = order or Order()
    order.tables = tables
    known, named = named_tables(tables)
    chosen = named or [*known.values()]
    read_kept(order.file)  # refuse an unusable file before the work
    order.refuse_contradictions()
    if order.write:
        _write(Path(order.write), known, order, json)
    elif order.row or order.budget or order.plan or order.next:
        with _workshop(known, order, {"device": device, "threads": threads}) as workshop:
            _work(workshop, chosen, order, json=json)
    else:
        workshop = Workshop(known, Path(order.out), order.file)
        print_tables(workshop, chosen, json)


def _work(workshop: Workshop, chosen: list[PublishedTable], order: Order, *, json: bool) -> None:
    """Run rows, or plan them."""
    if order.row and not order.plan:
        _run(workshop, chosen[0], order, json)
        return
    seconds = parse_time(order.budget) if order.budget else 0.0
    rows, absent = rows_with_text(chosen, order.data, holds=len(order.tables) != 1)
    if not order.worker:
        for table in absent:
            note(f"{table.name}: the dataset {table.data!r} is not here; its rows are left out")
    if order.budget:
        _fill(workshop, rows, Deadline(seconds, with_parent=order.worker), order, json)
    elif order.next:
        plan_rows(workshop, _unfinished(workshop, rows))
        print_next(rank_jobs(workshop, rows, order.first), json=json, all_of_them=True)
    else:
        every = [*rows, *((table, row, "") for table in absent for row in table.rows)]
        names = [chosen[0].row(name).name for name in order.row] if order.row else []
        plan_rows(workshop, [one for one in every if not names or one[1].name in names])
        print_tables(workshop, chosen, json)


@contextmanager
def _workshop(tables: Tables, order: Order, settings: dict[str, Any]) -> Iterator[Workshop]:
    """Open a workshop with a line that shows progress."""
    with watched({**settings, "processes": Processes()}) as (machine, progress):
        yield Workshop(tables, Path(order.out), order.file, machine, progress, note)


def _unfinished(workshop: Workshop, rows: Rows) -> Rows:
    """The rows that the queue would run."""
    jobs = pending_jobs(workshop, rows, workshop.kept())
    return [(job.table, job.row, job.data) for job in jobs]


def _run(workshop: Workshop, table: PublishedTable, order: Order, json: bool) -> None:
    """Run rows of a table and print the result of each."""
    rows = [table.row(name) for name in order.row]
    for row in rows:  # check all of them before the long work
        reason = obstacle(row)
        if reason:
            raise InputError(f"{table.name} {row.name}: {reason}")
    text = require_data(table, order.data) if any(row.recipe for row in rows) else ""
    found = []
    for row in rows:
        found.append(reproduce_row(workshop, table, row, text, again=order.again))
        if not json:
            print_result(table, row, found[-1])
    if json:
        print_json(found)
    elif any(row.order for row in rows):  # their order is known only now
        print_tables(workshop, [table], json)


def _fill(workshop: Workshop, rows: Rows, deadline: Deadline, order: Order, json: bool) -> None:
    """Run rows until the time is up, and print the next ones."""
    before = workshop.kept()
    plan_rows(workshop, _unfinished(workshop, rows))
    machine = workshop.machine
    workers, threads = share_out(order.workers, machine.threads, workshop.out)
    if workers > 1:
        arguments = order.as_arguments(deadline.left, threads, machine.device)
        run_workers(arguments, workers, say=tell, quiet=json)
    else:
        for job, result in work_off(workshop, rows, deadline, order.first):
            if not json:
                print_result(job.table, job.row, result)
    if order.worker:
        return
    found = _new_results(before, workshop.kept())
    if json:
        print_json(found)
        return
    print_next(rank_jobs(workshop, rows, order.first), json=False)
    print(f"{len(found)} rows run")


def _new_results(before: Kept, after: Kept) -> list[Result]:
    """Results with figures that were not there before."""
    return [
        result
        for name, result in after.results.items()
        if name not in before.results or before.results[name].by_seed() != result.by_seed()
    ]


def _take_over(there: Kept, known: Kept, tables: Tables) -> None:
    there.take_over(known)
    renew_verdicts(tables, there)


def _write(page: Path, tables: Tables, order: Order, json: bool) -> None:
    """Write the tables in the format of the file name."""
    known = Workshop(tables, Path(order.out), order.file).known()
    if page.suffix == ".html":
        write_page(page, tables, known)
    elif page.suffix == ".json":
        update_kept(page, lambda there: _take_over(there, known, tables))
    else:
        rewrite(page, tables, known)
    if json:
        print_json({"page": str(page), "results": str(order.file)})
        return
    print(f"wrote the tables into {page}")
