"""Picture of a study of reading times: gain of each model, slopes by word, lines and splines.

Takes a `ReadingStudy`, writes PNG or SVG; called by `elman reading-times`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elman.figures.files import new_figure, save_figure

if TYPE_CHECKING:
    from elman.tasks.language_modelling.reading_results import ReadingResult, ReadingStudy

_COLOURS = ("#333333", "#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#66a61e", "#a6761d")
_HATCHES = ("", "///", "...", "xx")


def draw_reading_times(study: ReadingStudy, path: Path) -> None:
    """Three panels: ΔLL with intervals; slopes of surprisal; its effect as a line and a spline."""
    rows = len(study.results)
    figure, (gains, slopes, curves) = new_figure(15, max(4.2, 1.2 + 0.28 * rows), columns=3)
    runs = [*dict.fromkeys(result.run for result in study.results)]
    colours = {run: _COLOURS[n % len(_COLOURS)] for n, run in enumerate(runs)}
    _draw_gains(gains, study, colours)
    single = [r for r in study.results if r.linearity is not None]
    _draw_slopes(slopes, study, single, colours)
    _draw_curves(curves, study, single, colours)
    for axes in (gains, slopes, curves):
        axes.grid(alpha=0.3)
    save_figure(figure, path)


def _draw_gains(axes: Any, study: ReadingStudy, colours: dict[str, str]) -> None:
    sets = [*dict.fromkeys(result.predictors for result in study.results)]
    for place, result in enumerate(study.results):
        axes.barh(
            place,
            result.delta,
            0.75,
            color=colours[result.run],
            hatch=_HATCHES[sets.index(result.predictors) % len(_HATCHES)],
            edgecolor="white",
            alpha=0.85,
        )
        axes.plot([result.low, result.high], [place, place], color="black", linewidth=1.4)
    names = [f"{result.run}: {result.predictors}" for result in study.results]
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.invert_yaxis()
    axes.axvline(0, color="#bbbbbb", linewidth=0.8)
    axes.set_xlabel("ΔLL, nats per row, held out (black: 95 %)")
    axes.set_title("gain over length and frequency", fontsize=10)


def _draw_slopes(
    axes: Any, study: ReadingStudy, results: list[ReadingResult], colours: dict[str, str]
) -> None:
    width = study.protocol["spillover"] + 1
    for number, result in enumerate(results):
        shift = (number - (len(results) - 1) / 2) * 0.6 / max(len(results), 1)
        axes.errorbar(
            np.arange(width) + shift,
            [one.value for one in result.coefficients],
            yerr=[1.96 * one.error for one in result.coefficients],
            fmt="o" if result.predictors == "surprisal" else "s",
            markersize=5,
            capsize=3,
            markerfacecolor=None if result.predictors == "surprisal" else "white",
            color=colours[result.run],
            label=_label(result),
        )
    names = ["this word", *(f"{back} back" for back in range(1, width))]
    axes.set_xticks(range(width), names)
    axes.axhline(0, color="#bbbbbb", linewidth=0.8)
    axes.set_ylabel(f"{_unit(study)} per bit of surprisal")
    axes.set_title("slopes (± 1.96 standard errors)", fontsize=10)
    axes.legend(fontsize=8)


def _draw_curves(
    axes: Any, study: ReadingStudy, results: list[ReadingResult], colours: dict[str, str]
) -> None:
    for result in results:
        if result.linearity is None:
            continue
        bits, line, spline = zip(*result.linearity.curve, strict=True)
        style = "-" if result.predictors == "surprisal" else "-."
        axes.plot(bits, spline, style, color=colours[result.run], label=_label(result))
        axes.plot(bits, line, ":", color=colours[result.run], linewidth=1)
    axes.set_xlabel("surprisal, bits")
    axes.set_ylabel(f"{_unit(study)}, summed over the word and the spill-over")
    axes.set_title("splines, and lines (dotted)", fontsize=10)
    axes.legend(fontsize=8)


def _label(result: ReadingResult) -> str:
    return result.run if result.predictors == "surprisal" else f"{result.run}: {result.predictors}"


def _unit(study: ReadingStudy) -> str:
    return "log time" if study.protocol["times"] == "log" else "time (ms)"
