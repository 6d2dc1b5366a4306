"""Scores by the length of the source as a picture: one curve per run.

Takes the result of `lengths.py`, writes PNG or SVG. Called by `elman study lengths`. What deck 003
shows of attention: without it the curve falls where sentences are long (Bahdanau et al. 2015,
figure 2).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elman.figures.files import save_figure

if TYPE_CHECKING:
    from elman.experiments.lengths import Lengths

_COLOURS = ("#d95f02", "#333333", "#1b9e77", "#7570b3", "#e7298a", "#66a61e", "#a6761d")
_MARKS = "os^Dvx*"


def draw_lengths(lengths: Lengths, path: Path) -> None:
    """The curves, each score at the mean length of its sources; the bands are on the axis."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    places = np.array([band.mean_length for band in lengths.bands])
    for number, run in enumerate(lengths.runs):
        axes.plot(
            places,
            run.by_length,
            color=_COLOURS[number % len(_COLOURS)],
            marker=_MARKS[number % len(_MARKS)],
            markersize=5,
            label=f"{run.name} ({run.whole:.{lengths.digits}f} on all)",
        )
    axes.set_xticks(places, [band.name for band in lengths.bands])
    axes.set_ylim(0, 1.05 * max(score for run in lengths.runs for score in [*run.by_length, 1e-3]))
    axes.set_xlabel("length of the source, in words")
    axes.set_ylabel(lengths.measure_name)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
    legend = figure.legend(loc="outside upper left", fontsize=8)
    for text in legend.get_texts():
        text.set_parse_math(False)
    save_figure(figure, path)
