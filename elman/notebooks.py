"""Results in notebooks: tables and bars as HTML, and data frames of pandas.

Classes with a table inherit from `Tabular` and say what it holds; `_repr_html_` and `to_frame`
follow. All text is escaped. IPython and pandas are used if they are there, never required.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib import import_module
from typing import Any, NamedTuple

from elman.extras import import_extra

_MOST_ROWS = 200  # shown in a notebook; `to_frame` has all of them
_CELL = "padding:.15rem .6rem;text-align:"


class Table(NamedTuple):
    """Names of columns, and rows of values."""

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]


class Tabular(ABC):
    """Something with a table: HTML in a notebook, and a data frame."""

    @abstractmethod
    def as_table(self) -> Table:
        """The table, with all rows."""

    def table_caption(self) -> str:
        """A line above the table."""
        return ""

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame."""
        return make_frame(self.as_table())

    def _repr_html_(self) -> str:
        return table_html(self.as_table(), self.table_caption())


def make_frame(table: Table) -> Any:
    """A pandas DataFrame of a table."""
    pandas = import_extra("pandas", "to_frame() needs pandas")
    return pandas.DataFrame([list(row) for row in table.rows], columns=list(table.header))


def table_html(table: Table, caption: str = "") -> str:
    """A table as HTML; numbers are aligned right, and long tables are cut with a note."""
    head = "".join(f'<th style="{_CELL}left">{escape(str(name))}</th>' for name in table.header)
    body = "".join(
        "<tr>" + "".join(map(_cell_html, row)) + "</tr>" for row in table.rows[:_MOST_ROWS]
    )
    above = f"<p>{escape(caption)}</p>" if caption else ""
    left_out = len(table.rows) - _MOST_ROWS
    below = f"<p>{left_out:,} more rows: to_frame() has all of them</p>" if left_out > 0 else ""
    inner = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f"<div>{above}<table>{inner}</table>{below}</div>"


def _cell_html(value: Any) -> str:
    if value is None:
        text, side = "–", "right"
    elif isinstance(value, bool | str):
        text, side = str(value), "left"
    elif isinstance(value, float):
        text = f"{value:,.4g}" if abs(value) < 10 or not math.isfinite(value) else f"{value:,.2f}"
        side = "right"
    else:
        text, side = f"{value:,}" if isinstance(value, int) else str(value), "right"
    return f'<td style="{_CELL}{side}">{escape(text)}</td>'


def records_table(records: Sequence[dict[str, Any]]) -> Table:
    """Records with their keys as columns, in the order of their first appearance."""
    names = [*dict.fromkeys(name for record in records for name in record)]
    return Table(names, [[record.get(name) for name in names] for record in records])


def shaded_html(words: Sequence[tuple[str, float, str]], most: float) -> str:
    """Words on a shade of orange: the text, a value from 0 to `most`, and a tooltip."""
    parts = []
    for word, value, tip in words:
        if word == "\n":
            parts.append("<br>")
            continue
        finite = value if math.isfinite(value) else most
        share = min(max(finite / most, 0.0), 1.0) if most > 0 else 0.0
        style = f"background:rgba(240,140,0,{0.65 * share:.3f});padding:.1rem .25rem"
        parts.append(f'<span style="{style}" title="{escape(tip)}">{escape(word)}</span>')
    return f'<div style="line-height:2">{" ".join(parts)}</div>'


def curve_html(lines: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Curves as a small SVG with a legend; values are shown on a logarithmic axis."""
    drawn = {
        name: [(x, math.log(y)) for x, y in points if y > 0 and math.isfinite(y)]
        for name, points in lines.items()
    }
    every = [point for points in drawn.values() for point in points]
    if len(every) < 2:
        return ""
    (left, right), (low, high) = ((min(v), max(v)) for v in zip(*every, strict=True))
    across, up = (right - left) or 1.0, (high - low) or 1.0
    colours = ["#3b5bdb", "#e8590c", "#2b8a3e", "#9c36b5"]
    parts, legend = [], []
    for number, (name, points) in enumerate(drawn.items()):
        colour = colours[number % len(colours)]
        places = " ".join(
            f"{10 + 380 * (x - left) / across:.1f},{150 - 140 * (y - low) / up:.1f}"
            for x, y in points
        )
        parts.append(
            f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
        )
        legend.append(f'<span style="color:{colour}">{escape(name)}</span>')
    bounds = f"{math.exp(low):,.4g} … {math.exp(high):,.4g}"
    svg = f'<svg width="400" height="160" viewBox="0 0 400 160" role="img">{"".join(parts)}</svg>'
    return f"<div>{svg}<div>{' · '.join(legend)} · {bounds}</div></div>"


# Progress -----------------------------------------------------------------------------------------


def in_notebook() -> bool:
    """Whether this runs in a notebook, where a line can be replaced."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


class NotebookBar:
    """A progress bar in the output of a cell, redrawn in place."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, share: float, text: str) -> None:
        """Show which share is done."""
        ipython: Any = import_module("IPython.display")  # it is there: this runs in a notebook
        value = min(max(share, 0.0), 1.0)
        drawn = ipython.HTML(f'<progress value="{value:.4f}" max="1"></progress> {escape(text)}')
        if self._handle is None:
            self._handle = ipython.display(drawn, display_id=True)
        else:
            self._handle.update(drawn)


def count_in_notebook(
    what: str, otherwise: Callable[[int, int], None]
) -> Callable[[int, int], None]:
    """A bar for countable work, told (newly done, total); `otherwise` outside of notebooks."""
    if not in_notebook():
        return otherwise
    bar, done = NotebookBar(), 0

    def add(amount: int, total: int) -> None:
        nonlocal done
        done = amount if done >= total else done + amount
        bar.show(done / max(total, 1), f"{what}: {done:,} of {total:,}")

    return add
