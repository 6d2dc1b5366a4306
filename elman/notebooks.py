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
_MOST_COLUMNS = 5  # of a table with one row
_LONGEST = 400  # characters of a cell
_PRECISION = 4  # digits of the largest number of a column
_SMALL, _SMALL_SHARE = 1e-3, 1e-3  # below both, a number would be shown as zero
_COLOURS = ("#3b5bdb", "#e8590c", "#2b8a3e", "#9c36b5")
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
    """A table as HTML; columns of numbers are aligned right, long tables are cut with a note.

    A table of one row and many columns is turned, so that it fits on the screen.
    """
    if len(table.rows) == 1 and len(table.header) > _MOST_COLUMNS:
        table = Table(["", "value"], [*zip(table.header, table.rows[0], strict=True)])
    rows = table.rows[:_MOST_ROWS]
    columns = [_column_html(name, [row[n] for row in rows]) for n, name in enumerate(table.header)]
    head, *body = ["<tr>" + "".join(cells) + "</tr>" for cells in zip(*columns, strict=True)]
    above = f"<p>{escape(caption)}</p>" if caption else ""
    left_out = len(table.rows) - _MOST_ROWS
    below = f"<p>{left_out:,} more rows: to_frame() has all of them</p>" if left_out > 0 else ""
    inner = f"<thead>{head}</thead><tbody>{''.join(body)}</tbody>"
    return f"<div>{above}<table>{inner}</table>{below}</div>"


def _column_html(name: str, values: Sequence[Any]) -> list[str]:
    """The cells of a column: its name, then its values."""
    numbers = [value for value in values if _is_number(value)]
    is_numeric = all(value is None or _is_number(value) for value in values)
    style = f"{_CELL}{'right' if is_numeric and numbers else 'left'};vertical-align:top"
    digits = _digits(numbers) if is_numeric else None
    cells = [f'<td style="{style}">{escape(_shown(value, digits))}</td>' for value in values]
    return [f'<th style="{style}">{escape(str(name))}</th>', *cells]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _digits(numbers: Sequence[float]) -> int | None:
    """Decimals that suit a whole column; None with whole numbers, or if sizes differ too much."""
    sizes = [abs(value) for value in numbers if value and math.isfinite(value)]
    if not sizes or any(isinstance(value, int) for value in numbers):
        return None
    if min(sizes) < _SMALL_SHARE * max(sizes) and min(sizes) < _SMALL:
        return None
    return max(2, min(_PRECISION - math.ceil(math.log10(max(sizes))), _PRECISION))


def _shown(value: Any, digits: int | None = None) -> str:
    """A value in a few characters."""
    if value is None:
        return "–"
    if isinstance(value, float):
        if digits is not None and math.isfinite(value):
            return f"{value:,.{digits}f}"
        is_large = abs(value) >= 10 and math.isfinite(value)
        return f"{value:,.2f}" if is_large else f"{value:,.4g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, Mapping):
        text = "; ".join(f"{name}: {_shown(part)}" for name, part in value.items())
    elif isinstance(value, list | tuple):
        is_text = all(isinstance(part, str) for part in value)
        text = (" " if is_text else ", ").join(
            f"({_shown(part)})" if isinstance(part, list | tuple) else _shown(part)
            for part in value
        )
    else:
        text = str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


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


def curve_html(lines: Mapping[str, Sequence[tuple[float, float]]], across: str = "epoch") -> str:
    """Curves as a small SVG with axes and a legend; values are shown on a logarithmic axis."""
    drawn = {
        name: [(x, math.log(y)) for x, y in points if y > 0 and math.isfinite(y)]
        for name, points in lines.items()
    }
    every = [point for points in drawn.values() for point in points]
    if len(every) < 2:
        return ""
    (left, right), (low, high) = ((min(v), max(v)) for v in zip(*every, strict=True))
    wide, tall = (right - left) or 1.0, (high - low) or 1.0
    curves, legend = [], []
    for number, (name, points) in enumerate(drawn.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        places = " ".join(
            f"{60 + 400 * (x - left) / wide:.1f},{150 - 140 * (y - low) / tall:.1f}"
            for x, y in points
        )
        curves.append(
            f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
        )
        legend.append(f'<span style="color:{colour}">{escape(name.replace("_", " "))}</span>')
    axes = '<path d="M60,5 V155 H465" fill="none" stroke="currentColor" stroke-opacity=".4"/>'
    labels = [
        (52, 16, "end", _shown(math.exp(high))),
        (52, 154, "end", _shown(math.exp(low))),
        (60, 172, "start", f"{across} {_shown(left)}"),
        (465, 172, "end", _shown(right)),
    ]
    texts = "".join(
        f'<text x="{x}" y="{y}" text-anchor="{side}" font-size="12" fill="currentColor">'
        f"{escape(text)}</text>"
        for x, y, side, text in labels
    )
    inner = f"{axes}{''.join(curves)}{texts}"
    svg = f'<svg width="480" height="180" viewBox="0 0 480 180" role="img">{inner}</svg>'
    return f"<div>{svg}<div>{' · '.join(legend)} (logarithmic)</div></div>"


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
