"""Drawings as matplotlib figures, for PNG and SVG files.

Takes the same data as `draw.js` (`Drawing`), gives a figure; called by `figures/inspection.py`. One
function per kind of drawing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from elman.figures.files import empty_figure, new_figure
from elman.insight.insight import Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = ("#1f6fc4", "#c8500a", "#2a8047", "#8a3fb0", "#a3262a", "#6b6f00")
_INCHES_PER_CELL, _LARGEST = 0.22, 14.0
_LINE = 90  # characters in a line of coloured text
_CHARACTER, _LINE_HEIGHT = 0.09, 0.3  # inches


def draw(drawing: Drawing) -> Figure:
    """A figure of a drawing."""
    return _KINDS[drawing.kind](drawing.arguments)


def _curves(given: dict[str, Any]) -> Figure:
    figure, axes = _figure(8, 4, given["title"])
    _plot(axes, given)
    return figure


def _panels(given: dict[str, Any]) -> Figure:
    """Curves side by side, in two columns."""
    panels = given["panels"]
    rows = (len(panels) + 1) // 2
    figure: Figure = empty_figure(11, 0.5 + 3.4 * rows)
    figure.suptitle(_plain(given["title"]), fontsize=11)
    every = figure.subplots(rows, 2, squeeze=False).flat
    for axes, panel in zip(every, panels, strict=False):
        axes.set_title(_plain(panel["title"]), fontsize=10, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
        _plot(axes, panel)
    for axes in [*every][len(panels) :]:
        axes.set_axis_off()
    return figure


def _plot(axes: Axes, given: dict[str, Any]) -> None:
    for number, series in enumerate(given["series"]):
        y = _array(series["y"])
        x = series.get("x", range(len(y)))
        axes.plot(x, y, label=series["name"], color=_COLOURS[number % len(_COLOURS)])
    if given.get("logY") and any(np.nanmax(_array(s["y"]), initial=0) > 0 for s in given["series"]):
        axes.set_yscale("log")
    if given.get("zero"):
        axes.set_ylim(bottom=0)
    if given.get("ends"):
        axes.set_xlim(*given["ends"])
    if given.get("top") is not None:
        axes.set_ylim(top=given["top"])
    for level in given.get("levels", ()):
        axes.axhline(level["y"], color="#555555", linestyle="--", linewidth=1, label=level["name"])
    for mark in given.get("marks", ()):
        axes.axvline(mark["x"], color="#888888", linestyle=":", label=mark["name"])
    if names := given.get("xNames"):
        step = max(1, len(names) // 40)
        axes.set_xticks(range(0, len(names), step), [*map(_plain, names[::step])], rotation=60)
    axes.set_xlabel(given.get("xLabel", ""))
    axes.set_ylabel(given.get("yLabel", ""))
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)


def _heat_map(given: dict[str, Any]) -> Figure:
    from matplotlib.colors import LogNorm, Normalize

    values = _array(given["values"])
    rows, columns = values.shape
    width = min(_LARGEST, 3 + _INCHES_PER_CELL * columns)
    figure, axes = _figure(width, min(_LARGEST, 2 + _INCHES_PER_CELL * rows), given["title"])
    there = values[np.isfinite(values)]
    reach = float(np.abs(there).max(initial=1e-12))
    low, high = given.get("low"), given.get("high")
    scale = given.get("scale", "linear")
    norm: Normalize
    if scale == "log":
        positive = there[there > 0]
        low = low or float(positive.min(initial=1.0))
        norm = LogNorm(low, max(high or float(positive.max(initial=low)), low * 1.0001), clip=True)
    elif scale == "diverging":
        norm = Normalize(-reach if low is None else low, reach if high is None else high)
    else:
        norm = Normalize(low, high)
    colours = "RdBu_r" if scale == "diverging" else "YlOrRd"
    image = axes.imshow(values, norm=norm, cmap=colours, aspect="auto", interpolation="nearest")
    figure.colorbar(image, ax=axes)
    _name_axis(axes.set_xticks, given["columns"], rotation=60)
    _name_axis(axes.set_yticks, given["rows"])
    axes.set_xlabel(given.get("columnLabel", ""))
    axes.set_ylabel(given.get("rowLabel", ""))
    return figure


def _bars(given: dict[str, Any]) -> Figure:
    names, series = given["names"], given["series"]
    thick = 0.8 / len(series)
    figure, axes = _figure(7, 1.5 + 0.3 * len(names), given["title"])
    for number, one in enumerate(series):
        places = np.arange(len(names)) + (number - (len(series) - 1) / 2) * thick
        axes.barh(places, one["values"], thick, label=one["name"], color=_COLOURS[number])
    axes.set_yticks(range(len(names)), [*map(_plain, names)])
    axes.invert_yaxis()
    if given.get("max"):
        axes.set_xlim(right=given["max"])
    axes.legend(fontsize=8)
    return figure


def _coloured_text(given: dict[str, Any]) -> Figure:
    lines = _broken(given["words"])
    width, height = 1 + _CHARACTER * _LINE, 1 + _LINE_HEIGHT * len(lines)
    figure, axes = _figure(width, height, given["title"])
    axes.set_axis_off()
    axes.set(xlim=(0, _LINE), ylim=(len(lines), 0))
    values = [abs(word["value"]) for word in given["words"] if word["value"] is not None]
    low, high = given.get("low") or 0.0, given.get("high") or max([*values, 1e-12])
    for row, line in enumerate(lines):
        for column, text, value in line:
            strength = 0.0 if value is None else (abs(value) - low) / (high - low or 1)
            cool = given.get("diverging") and value is not None and value < 0
            box = ("#9cc7f5" if cool else "#ffa76b", float(np.clip(strength, 0, 1)))
            axes.axvspan(
                column,
                column + len(text),
                1 - (row + 0.9) / len(lines),
                1 - (row + 0.1) / len(lines),
                color=box,
                linewidth=0,
            )
            for place, character in enumerate(
                text
            ):  # one by one, so that letters match their colours
                axes.text(
                    column + place, row + 0.65, _plain(character), family="monospace", fontsize=9
                )
    return figure


_KINDS = {
    "curves": _curves,
    "panels": _panels,
    "heatMap": _heat_map,
    "bars": _bars,
    "colouredText": _coloured_text,
}


def _broken(words: list[dict[str, Any]]) -> list[list[tuple[int, str, float | None]]]:
    """Wrap words, with their columns, into lines."""
    lines: list[list[tuple[int, str, float | None]]] = [[]]
    column = 0
    for word in words:
        text = word["text"].replace("\n", "⏎")
        if column + len(text) > _LINE and column:
            lines.append([])
            column, text = 0, text.lstrip()
        lines[-1].append((column, text[:_LINE], word["value"]))
        column += len(text)
        if "\n" in word["text"]:
            lines.append([])
            column = 0
    return [line for line in lines if line] or [[]]


def _figure(width: float, height: float, title: str) -> tuple[Figure, Axes]:
    figure, axes = new_figure(width, height)
    axes.set_title(_plain(title), fontsize=10, loc="left")
    return figure, axes


def _name_axis(set_ticks: Any, names: list[str], **options: Any) -> None:
    step = max(1, len(names) // 60)
    shown = [_plain(name)[:16] for name in names[::step]]
    set_ticks(range(0, len(names), step), shown, fontsize=7, **options)


def _array(values: Any) -> np.ndarray:
    """Values as numbers, with NaN for None."""
    return np.array(values, dtype=float)


def _plain(text: str) -> str:
    """Escape characters that matplotlib would read as a formula."""
    return text.replace("$", r"\$")
