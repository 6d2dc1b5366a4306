"""Every row with its result, verdict and cost; nothing is trained or measured here."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from elman.adapters import ADAPTERS
from elman.experiments.reproduce.costs import row_cost, spent
from elman.experiments.reproduce.experiments import trials_of
from elman.experiments.reproduce.registry import PublishedRow, PublishedTable, Tables
from elman.experiments.reproduce.results import Cost, Kept, Result
from elman.experiments.reproduce.verdicts import (
    NOT_RUN,
    OTHER_TEXT,
    QUOTED,
    Measured,
    Verdict,
    describe_ours,
    judge,
    judge_order,
)
from elman.json_safe import json_safe


@dataclass(frozen=True)
class Status:
    """The result, verdict and cost of a row."""

    table: PublishedTable
    row: PublishedRow
    result: Result | None
    verdict: Verdict
    cost: Cost | None  # measured, or planned; None: unknown

    def to_data(self) -> dict[str, Any]:
        """The same as plain data, as `elman reproduce --json` prints it."""
        found: dict[str, Any] = json_safe(
            {
                "table": self.table.name,
                "metric": self.table.metric,
                "row": self.row,
                "verdict": {"kind": self.verdict.kind, "text": str(self.verdict)},
                "cost": self.cost,
                "result": self.result,
            }
        )
        return found


def statuses(tables: Tables, chosen: Iterable[PublishedTable], kept: Kept) -> list[Status]:
    """The status of every row of the chosen tables, in order."""
    found = []
    for table in chosen:
        for row in table.rows:
            result = kept.of(table, row)
            cost = spent(result) if result else row_cost(tables, table, row, kept)
            found.append(Status(table, row, result, _verdict(table, row, result, kept, cost), cost))
    return found


def _verdict(
    table: PublishedTable,
    row: PublishedRow,
    result: Result | None,
    kept: Kept,
    cost: Cost | None,
) -> Verdict:
    if result is not None:
        return verdict_on(table, row, result, kept)
    if row.quoted:
        return Verdict(QUOTED, row.quoted)
    reason = obstacle(row)
    failure = kept.failures.get(f"{table.name}/{row.name}")
    if failure is not None:
        reason = f"set aside, {failure.reason}"
    return Verdict(NOT_RUN, reason or (f"cost {cost}" if cost else "cost not known"))


def renew_verdicts(tables: Tables, kept: Kept) -> None:
    """Store today's verdict with every result: rows that were measured later may change it."""
    for table in tables.values():
        for row in table.rows:
            if (result := kept.of(table, row)) is not None:
                result.verdict = str(verdict_on(table, row, result, kept))


def verdict_on(table: PublishedTable, row: PublishedRow, result: Result, kept: Kept) -> Verdict:
    """The verdict on a result; `kept` has the other rows, for verdicts about the order."""
    measured = math.inf if result.measured is None else result.measured
    if not row.experiment and table.sha256 and result.data.get("test") != table.sha256:
        return Verdict(OTHER_TEXT, "not the one of the publication")
    if row.ours:
        return describe_ours(row.published, measured, metric=table.metric)
    if row.order:
        figures = {**_group(table, row.order, kept), row.name: _measured(row, result)}
        published = {other.name: other.published or 0.0 for other in table.rows}
        return judge_order(row.name, published, figures, row.tolerance)
    return judge(
        row.published,
        measured,
        metric=table.metric,
        higher_is_better=table.higher_is_better,
        near=row.tolerance,
    )


def _group(table: PublishedTable, order: str, kept: Kept) -> dict[str, Measured]:
    """The stored figures of the rows whose order is judged together."""
    rows = [row for row in table.rows if row.order == order]
    found = [(row, kept.of(table, row)) for row in rows]
    return {
        row.name: _measured(row, result)
        for row, result in found
        if result is not None and result.measured is not None
    }


def _measured(row: PublishedRow, result: Result) -> Measured:
    mean = math.inf if result.measured is None else result.measured
    # Older results of experiments store the mean and the spread only.
    seeds = len(result.figures) or (len(trials_of(row)) if row.experiment else 1)
    return Measured(mean, result.spread if seeds > 1 else None, seeds)


def obstacle(row: PublishedRow) -> str:
    """Why this version of elman cannot run a row; empty if it can."""
    if row.quoted:
        return f"quoted: {row.quoted}"
    names = [adapter.partition(":")[0] for adapter in row.adapters]
    lacking = [name for name in names if name not in ADAPTERS]
    return f"needs the adapter {lacking[0]!r}, which this elman does not have" if lacking else ""
