"""The tables as one HTML page: published and measured figures as bars, verdicts, costs, commands.

The page opens anywhere: no server, no network, light and dark. Every verdict has a symbol and a
word besides its colour, and the two bars differ in their pattern, so it works without colours.
"""

from __future__ import annotations

from collections import Counter
from html import escape
from pathlib import Path

from elman.atomic import replacing
from elman.errors import InputError
from elman.experiments.reproduce.registry import PublishedTable, Tables
from elman.experiments.reproduce.report import evidence, figure, training_cost, way
from elman.experiments.reproduce.results import Kept
from elman.experiments.reproduce.status import Status, statuses
from elman.experiments.reproduce.verdicts import (
    BETTER,
    DIRECTION_DIFFERS,
    DIRECTION_HOLDS,
    MEASURED,
    NOT_DECIDED,
    NOT_REACHED,
    NOT_RUN,
    ORDER_DIFFERS,
    ORDER_HOLDS,
    OTHER_TEXT,
    OURS,
    QUOTED,
    REPRODUCED,
    WITHIN,
)
from elman.figures.page import Page

# For each verdict: a symbol, the CSS class of its colour, and its meaning.
_SIGNS = {
    REPRODUCED: ("✓", "good", "within the row's tolerance of the published figure"),
    BETTER: ("▲", "good", "better than published, with the settings of the publication"),
    ORDER_HOLDS: ("✓", "good", "better and worse than the same rows as published"),
    DIRECTION_HOLDS: ("✓", "good", "the same, for an order of two rows"),
    WITHIN: ("≈", "near", "worse than published, by at most 10 %"),
    NOT_REACHED: ("✗", "bad", "worse by more than 10 %"),
    ORDER_DIFFERS: ("✗", "bad", "at least one pair of rows is in the other order"),
    DIRECTION_DIFFERS: ("✗", "bad", "the same, for an order of two rows"),
    NOT_DECIDED: ("≈", "near", "too close to the other rows: within the noise of the seeds"),
    OURS: ("○", "ours", "our own recipe; shown next to the published figure, not judged"),
    MEASURED: ("○", "ours", "the order can be judged only with another row"),
    OTHER_TEXT: ("✗", "bad", "not the text of the publication"),
    NOT_RUN: ("…", "open", "not measured yet; the cost is known"),
    QUOTED: ("“", "open", "cannot be run here; the reason is given"),
}
_STYLE = """<style>
.scroll { overflow-x: auto } .tables code { white-space: nowrap }
.tables { width: 100%; font-size: .9rem } .tables td, .tables th { vertical-align: top }
.bar { display: block; height: .55rem; margin: .2rem 0; border: 1px solid var(--draw-ink);
       box-sizing: border-box; min-width: 2px }
.published { background: repeating-linear-gradient(135deg, transparent 0 3px, var(--draw-muted)
             3px 4px) }
.bar.good { background: var(--draw-3) } .bar.near { background: var(--draw-6) }
.bar.bad { background: var(--draw-5) } .bar.ours { background: var(--draw-1) }
.bars { width: 12rem } .verdict { min-width: 9rem } .number { white-space: nowrap }
.sign { font-weight: 700 } .sign.good { color: var(--draw-3) } .sign.near { color: var(--draw-6) }
.sign.bad { color: var(--draw-5) } .sign.ours { color: var(--draw-1) }
.how { color: var(--draw-muted); font-size: .8rem; overflow-wrap: anywhere }
</style>"""


def write_page(path: Path, tables: Tables, kept: Kept) -> None:
    """Write the page atomically."""
    try:
        with replacing(path) as temporary:
            temporary.write_text(render_page(tables, kept), encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror}); name a file in an existing folder"
        ) from None


def render_page(tables: Tables, kept: Kept) -> str:
    """The page as a string."""
    rows = statuses(tables, tables.values(), kept)
    page = Page("Published figures and the figures that elman measured")
    page.markup(_STYLE)
    page.paragraph(
        "Every row has the published figure, the figure that elman measured, and a verdict. Hatched"
        " bars are published figures, filled bars are measured ones. All bars of a table have the"
        " same scale. Rows whose names end in “-ours” use our own recipe instead of the settings of"
        " the publication."
    )
    counts = Counter(status.verdict.kind for status in rows)
    kinds = [kind for kind in _SIGNS if counts[kind]]
    page.drawing(
        "bars",
        {
            "title": "Rows by verdict",
            "names": kinds,
            "series": [{"name": "rows", "values": [counts[kind] for kind in kinds]}],
        },
    )
    page.markup(_legend(kinds))
    for table in tables.values():
        page.heading(table.title)
        deck = f"Deck {table.deck}. " if table.deck else ""
        page.note(f"{deck}{table.source}; {table.metric}. {table.note}")
        page.markup(_table(table, [status for status in rows if status.table is table]))
    return page.html()


def _legend(kinds: list[str]) -> str:
    lines = "".join(
        f"<tr><td>{_sign(kind)} {escape(kind)}</td><td>{escape(_SIGNS[kind][2])}</td></tr>"
        for kind in kinds
    )
    return f"<table><tbody>{lines}</tbody></table>"


def _sign(kind: str) -> str:
    sign, colour, _ = _SIGNS[kind]
    return f'<span class="sign {colour}" aria-hidden="true">{sign}</span>'


def _table(table: PublishedTable, rows: list[Status]) -> str:
    largest = max(
        value
        for status in rows
        for value in (status.row.published, status.result.measured if status.result else None, 0)
        if value is not None
    )
    header = ["row", "model", "published", "measured", "", "verdict", "training"]
    cells = "".join(f"<th>{name}</th>" for name in header)
    body = "".join(_row(status, largest or 1.0) for status in rows)
    return (
        f'<div class="scroll"><table class="tables"><thead><tr>{cells}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
        f"<pre>elman reproduce {escape(table.name)} --budget 12h --data FOLDER</pre>"
    )


def _row(status: Status, largest: float) -> str:
    table, row, result = status.table, status.row, status.result
    kind = status.verdict.kind
    measured = "–"
    if result is not None:
        measured = figure(table, result.measured, measured=True)
        if result.spread is not None:
            measured += f" ± {figure(table, result.spread, measured=True)}"
    bars = _bar(row.published, largest, "published")
    bars += _bar(result.measured if result else None, largest, _SIGNS[kind][1])
    about = escape(row.about) + (f" ({escape(row.source)})" if row.source else "")
    how = "" if row.quoted else f"elman reproduce {table.name} --row {row.name}: {way(row)}"
    parts = [how or row.quoted, row.note, evidence(result) if result else ""]
    details = "<br>".join(escape(part) for part in parts if part)
    return (
        f"<tr><td><code>{escape(row.name)}</code></td>"
        f'<td>{about}<details class="how"><summary>how</summary>{details}</details></td>'
        f'<td class="number">{figure(table, row.published)}</td>'
        f'<td class="number">{measured}</td><td class="bars">{bars}</td>'
        f'<td class="verdict">{_sign(kind)} {escape(str(status.verdict))}</td>'
        f"<td>{escape(training_cost(status))}</td></tr>"
    )


def _bar(value: float | None, largest: float, colour: str) -> str:
    if value is None:
        return ""
    width = max(0.0, min(100.0, 100 * value / largest))
    return f'<span class="bar {colour}" style="width: {width:.1f}%"></span>'
