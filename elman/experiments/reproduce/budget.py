"""Which rows fit into a given time: the cheapest first, until nothing fits any more.

Takes rows with their texts and a number of seconds, gives the results one by one. What counts are
the trainings that are still to do; the clock runs on while a row is measured.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from elman.errors import InputError
from elman.experiments.reproduce.costs import plan_rows, row_cost
from elman.experiments.reproduce.measuring import reproduce_row
from elman.experiments.reproduce.registry import PublishedRow, PublishedTable
from elman.experiments.reproduce.results import Kept, Result, read_kept
from elman.experiments.reproduce.status import obstacle
from elman.experiments.reproduce.workshop import Workshop

_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


def parse_budget(text: str) -> float:
    """Seconds of "45s", "30m", "2h", "1.5h"."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]+)", text.strip())
    if match is None or match.group(2) not in _UNITS:
        raise InputError(f"--budget {text}: write a time like 45s, 30m or 2h")
    return float(match.group(1)) * _UNITS[match.group(2)]


def fill_budget(
    workshop: Workshop, rows: list[tuple[PublishedTable, PublishedRow, str]], seconds: float
) -> Iterator[Result]:
    """Results of the rows that fit and are not kept yet, each when it is there."""
    started = time.monotonic()
    possible = [(table, row, data) for table, row, data in rows if not obstacle(row)]
    plan_rows(workshop, pending(possible, read_kept(workshop.results)))
    while True:
        kept = read_kept(workshop.results)
        left = seconds - (time.monotonic() - started)
        fitting = [
            (cost, place)
            for place, (table, row, _) in enumerate(possible)
            if kept.of(table, row) is None
            and (cost := _seconds(workshop, table, row, kept)) is not None
            and cost <= left
        ]
        if not fitting:
            return
        table, row, data = possible[min(fitting)[1]]
        yield reproduce_row(workshop, table, row, data)


def left_over(
    workshop: Workshop, rows: list[tuple[PublishedTable, PublishedRow, str]]
) -> list[tuple[str, str]]:
    """Rows that could be run and have no result, and what each costs."""
    kept = read_kept(workshop.results)
    found = []
    for table, row, _ in pending(rows, kept):
        if not obstacle(row):
            cost = row_cost(workshop.tables, table, row, kept, workshop.runs)
            found.append((f"{table.name} {row.name}", str(cost or "not known")))
    return found


def pending(
    rows: list[tuple[PublishedTable, PublishedRow, str]], kept: Kept
) -> list[tuple[PublishedTable, PublishedRow, str]]:
    """The rows that have no result yet."""
    return [(table, row, data) for table, row, data in rows if kept.of(table, row) is None]


def _seconds(
    workshop: Workshop, table: PublishedTable, row: PublishedRow, kept: Kept
) -> float | None:
    cost = row_cost(workshop.tables, table, row, kept, workshop.runs)
    return None if cost is None else cost.seconds
