"""`elman reproduce`: published tables row by row, measured here, with a verdict."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elman.cli.arguments import Device, Json, Threads
from elman.cli.output import duration, note, plain, print_json, print_table
from elman.errors import InputError, choose

if TYPE_CHECKING:
    from elman.reproduce.measuring import Workshop
    from elman.reproduce.registry import Row, Table, Tables
    from elman.reproduce.results import Result
    from elman.reproduce.standing import Standing


def reproduce(
    table: str | None = None,
    /,
    *,
    row: tuple[str, ...] = (),
    budget: str = "",
    data: str = "",
    plan: bool = False,
    again: bool = False,
    out: str = "reproduced",
    results: str = "",
    write: str = "",
    device: Device = "cpu",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """The tables of published figures: list them, run rows of them, compare.

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
    row
        Run this row of the table. May be given several times.
    budget
        Run all rows whose trainings fit into this time (45s, 30m, 2h), the cheapest first, leaving
        out those that have a result. Planning and measuring count as well.
    data
        The folder of the table's text, or one that holds such folders under the names of the texts
        (ptb, lm1b); that folder may also be named in the environment variable ELMAN_DATA.
    plan
        Find what the trainings cost here, as elman plan does, and keep that.
    again
        Measure rows again that have a result; trainings that are done are not done again.
    out
        The folder for runs and results.
    results
        The file of results, if not results.json in that folder.
    write
        Write the tables into this Markdown file, between its two marks.
    """
    from elman.reproduce.registry import read_tables
    from elman.reproduce.results import read_kept

    tables = read_tables()
    chosen = [*tables.values()] if table is None else [choose(tables, table, "table")]
    path = Path(results) if results else Path(out) / "results.json"
    read_kept(path)  # a file that cannot be used is refused before the work
    if row and table is None:
        raise InputError(f"--row {row[0]}: name its table first, as in elman reproduce ptb --row …")
    if row and budget:
        raise InputError("--row runs these rows, --budget those that fit; give one of the two")
    if again and not row:
        raise InputError("--again is for rows that are named: elman reproduce TABLE --row ROW …")
    if write and (row or budget or plan):
        raise InputError("--write writes what is kept; run rows first, then write")
    if write:
        _write(Path(write), tables, path)
        return
    if not (row or budget or plan):
        _list(tables, chosen, path, json)
        return
    seconds = _parse(budget) if budget else 0.0
    with _workshop(tables, Path(out), path, {"device": device, "threads": threads}) as workshop:
        if row:
            _run(workshop, chosen[0], row, data, again=again, json=json)
            return
        rows = _rows_with_text(chosen, data, holds=table is None)
        if budget:
            _fill(workshop, rows, seconds, json)
            return
        from elman.reproduce.costs import plan_rows

        plan_rows(workshop, rows)
    _list(tables, chosen, path, json)


def _parse(budget: str) -> float:
    from elman.reproduce.budget import parse_budget

    return parse_budget(budget)


@contextmanager
def _workshop(
    tables: "Tables", out: Path, results: Path, settings: dict[str, Any]
) -> Iterator["Workshop"]:
    """A place to work, with a line that shows what is being done."""
    from elman.cli.watching import watched
    from elman.reproduce.measuring import Workshop
    from elman.training.processes import Processes

    with watched({**settings, "processes": Processes()}) as (machine, progress):
        yield Workshop(tables, out, results, machine, progress)


def _run(
    workshop: "Workshop",
    table: "Table",
    names: tuple[str, ...],
    folder: str,
    *,
    again: bool,
    json: bool,
) -> None:
    """Run rows of a table and say how each came out."""
    from elman.reproduce.data import require_data
    from elman.reproduce.measuring import reproduce_row
    from elman.reproduce.standing import obstacle

    rows = [table.row(name) for name in names]
    for row in rows:  # all of them before the long work
        reason = obstacle(row)
        if reason:
            raise InputError(f"{table.name} {row.name}: {reason}")
    text = require_data(table, folder) if any(row.recipe for row in rows) else ""
    found = []
    for row in rows:
        found.append(reproduce_row(workshop, table, row, text, again=again))
        if not json:
            _print_result(table, row, found[-1])
    if json:
        print_json(found)
    elif any(row.experiment for row in rows):  # only now their order is known
        _list(workshop.tables, [table], workshop.results, json)


def _rows_with_text(
    chosen: list["Table"], folder: str, *, holds: bool
) -> list[tuple["Table", "Row", str]]:
    """The rows of these tables whose text is here, with it."""
    from elman.reproduce.data import find_data, require_data

    if len(chosen) == 1 and chosen[0].data:
        require_data(chosen[0], folder, holds=holds)
    found = []
    for table in chosen:
        text = find_data(table, folder, holds=holds)
        if table.data and text is None:
            note(f"{table.name}: the text {table.data!r} is not here, its rows are left out")
            continue
        found += [(table, row, text or "") for row in table.rows]
    return found


def _fill(
    workshop: "Workshop", rows: list[tuple["Table", "Row", str]], seconds: float, json: bool
) -> None:
    """Run what fits, and say what did not."""
    from elman.reproduce.budget import fill_budget, left_over

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


def _print_result(table: "Table", row: "Row", result: "Result") -> None:
    """Published, measured, verdict, and how the figure was obtained."""
    from elman.reproduce.report import figure, way
    from elman.reproduce.standing import spent

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


def _list(tables: "Tables", chosen: list["Table"], path: Path, json: bool) -> None:
    """The rows with what is known of them."""
    from elman.reproduce.report import figure
    from elman.reproduce.results import read_kept
    from elman.reproduce.standing import standings

    rows = standings(tables, chosen, read_kept(path))
    if json:
        print_json([_as_data(standing) for standing in rows])
        return
    for table in chosen:
        print(f"{table.name}: {table.title} ({table.source}; {table.metric})")
        lines = []
        for standing in rows:
            if standing.table is not table:
                continue
            row, result = standing.row, standing.result
            short = result is None and len(chosen) > 1  # reasons are long
            lines.append(
                [
                    row.name,
                    row.about,
                    figure(table, row.published),
                    figure(table, result.measured if result else None, measured=True),
                    standing.verdict.kind if short else str(standing.verdict),
                    str(standing.cost or "–"),
                ]
            )
        print_table(["row", "model", "published", "measured", "verdict", "training"], lines)
        print()
    print("run one: elman reproduce ptb --row kn5 --data FOLDER; costs: elman reproduce ptb --plan")


def _as_data(standing: "Standing") -> dict[str, Any]:
    """A standing as plain data."""
    return {
        "table": standing.table.name,
        "metric": standing.table.metric,
        "row": plain(standing.row),
        "verdict": {"kind": standing.verdict.kind, "text": str(standing.verdict)},
        "cost": plain(standing.cost),
        "result": plain(standing.result),
    }


def _write(page: Path, tables: "Tables", results: Path) -> None:
    from elman.reproduce.report import rewrite
    from elman.reproduce.results import read_kept

    rewrite(page, tables, read_kept(results))
    print(f"wrote the tables into {page}, from {results}")
