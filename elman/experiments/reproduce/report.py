"""The tables as part of a Markdown page.

`rewrite` puts them between the two marks of a page and leaves the rest of the page unchanged.
"""

from __future__ import annotations

from pathlib import Path

from elman.errors import InputError
from elman.experiments.reproduce.registry import PublishedRow, PublishedTable, Tables
from elman.experiments.reproduce.results import Kept, Result
from elman.experiments.reproduce.status import Status, statuses

BEGIN = "<!-- elman reproduce: begin -->"
END = "<!-- elman reproduce: end -->"
_DIGITS = {"perplexity": 2, "nats": 3, "accuracy": 4, "F1": 2, "BLEU": 2, "score": 2}


def figure(table: PublishedTable, value: float | None, *, measured: bool = False) -> str:
    """A figure as published, or, if measured, with the usual number of digits."""
    if value is None:
        return "–"
    return f"{value:.{_DIGITS[table.metric]}f}" if measured else str(value)


def way(row: PublishedRow) -> str:
    """How to obtain a row: recipe and options."""
    if row.quoted:
        return row.quoted
    if row.experiment:
        return f"experiment {row.trial}"
    options = [f"--from {row.starts_from}"] if row.starts_from else []
    options += [f"--set {setting}" for setting in row.settings]
    options += [f"--with {adapter}" for adapter in row.adapters]
    return " ".join([f"recipe {row.recipe}", *options])


def evidence(result: Result) -> str:
    """The date, version, seeds, run and text of a measured figure."""
    parts = [result.date, f"elman {result.elman}"]
    seeds = [*result.by_seed()]
    if seeds:
        parts.append(f"seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)}")
    parts += [f"run {run[:8]}" for run in result.runs.values()]
    if result.data:
        parts.append(f"text {result.data[result.split][:8]}")
    return " · ".join(parts)


def render(tables: Tables, kept: Kept) -> str:
    """All tables, as Markdown."""
    rows = statuses(tables, tables.values(), kept)
    parts = [
        "\n".join(_table([status for status in rows if status.table is table]))
        for table in tables.values()
        if table.rows
    ]
    return "\n\n".join(parts)


def _table(rows: list[Status]) -> list[str]:
    table = rows[0].table
    deck = f"Deck {table.deck}. " if table.deck else ""
    lines = [f"### {table.title}", "", f"`elman reproduce {table.name}`. {deck}{table.source}."]
    if table.note:
        lines[-1] += f" {table.note}"
    others = list(dict.fromkeys(name for r in rows for name in r.row.also or {}))
    header = ["row", "model", "published", *others, "measured", "verdict", "how", "training"]
    numbers = {"published", "measured", *others}
    lines += ["", _line(header), _line("---:" if name in numbers else "---" for name in header)]
    lines += [_line(_cells(status, others)) for status in rows]
    protocols = list(dict.fromkeys(_protocol(r) for r in rows if r.result is not None))
    if protocols:
        lines += ["", "Protocol: " + "; ".join(protocols) + "."]
    return lines


def _cells(status: Status, others: list[str]) -> list[str]:
    table, row, result = status.table, status.row, status.result
    published = figure(table, row.published)
    if row.spread is not None:
        published += f" ± {row.spread}"
    if row.valid is not None:
        published += f" (valid {row.valid})"
    measured = "" if result is None else f"**{figure(table, result.measured, measured=True)}**"
    if result is not None and result.spread is not None:
        measured += f" ± {figure(table, result.spread, measured=True)}"
    if result is not None and result.valid is not None:
        measured += f" (valid {figure(table, result.valid, measured=True)})"
    model = row.about + (f", {row.parameters}" if row.parameters else "")
    model += f" ({row.source})" if row.source else ""
    also = [f"{row.also[name]}" if row.also and name in row.also else "" for name in others]
    how = "" if row.quoted else f"`{way(row)}`"
    how += ("; " if how and row.note else "") + row.note
    return [
        f"`{row.name}`",
        model,
        published,
        *also,
        measured,
        str(status.verdict),
        how,
        training_cost(status),
    ]


def training_cost(status: Status) -> str:
    """The cost of the training, or the known cost of a quoted row.

    Empty for a row that was not run, because its verdict states the cost.
    """
    if status.row.quoted:
        known = [] if status.cost is None else [str(status.cost)]
        return ": ".join([*known, status.row.cost])
    return "" if status.result is None or status.cost is None else str(status.cost)


def _protocol(status: Status) -> str:
    """The protocol and the text of a measured figure."""
    assert status.result is not None, "only rows with a result have a protocol"
    result = status.result
    text = f"; {result.split} text sha256:{result.data[result.split][:12]}" if result.data else ""
    return f"`{result.protocol}`{text}"


def _line(cells: object) -> str:
    return "| " + " | ".join(cells) + " |"  # type: ignore[arg-type]


def rewrite(page: Path, tables: Tables, kept: Kept) -> None:
    """Put the tables between the two marks of a page."""
    try:
        text = page.read_text(encoding="utf-8")
        page.write_text(between_marks(text, render(tables, kept), page), encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{page}: cannot be written ({error.strerror}); name an existing Markdown file"
        ) from None


def between_marks(text: str, part: str, page: Path) -> str:
    """The text of a page with `part` between its marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise InputError(f"{page}: has no place for the tables; add two lines: {BEGIN} {END}")
    return f"{before}{begin}\n\n{part}\n\n{end}{after}"
