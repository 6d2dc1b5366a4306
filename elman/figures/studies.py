"""Plots of studies: exposure bias of training regimes, and scores by the length of the source.

Takes the results of `experiments/regimes.py` and `experiments/lengths.py`, writes PNG or SVG;
called by `elman study regimes` and `elman study lengths`. Without attention, the curve by length
falls where sentences are long (Bahdanau et al. 2015, figure 2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elman.figures.colours import colour
from elman.figures.files import new_figure, save_figure

if TYPE_CHECKING:
    from elman.experiments.lengths import Lengths
    from elman.experiments.regimes import RegimeResult, RegimeRun

_FEWEST = 30  # own words needed at a position to draw it
_MARKS = "os^Dvx*"


def draw_regimes(results: Sequence[RegimeResult], path: Path) -> None:
    """Three panels: drift; KL on true and own history; and their difference by position."""
    figure, (left, middle, right) = new_figure(15, 4.2, columns=3)
    _bar(left, np.arange(len(results)), results, lambda run: run.drift.drift, "")
    _name(left, results)
    left.set_ylabel("nats per word")
    left.set_title("drift: rise of the loss when half of the words read are own", fontsize=9)
    _bars(middle, results)
    _curves(right, results)
    for axes in (left, middle, right):
        axes.grid(alpha=0.3)
    figure.savefig(path, format="png", dpi=120)


def _bars(axes: Any, results: Sequence[RegimeResult]) -> None:
    """One pair of bars per regime; the thin lines are standard errors over the seeds."""
    places = np.arange(len(results))
    _bar(axes, places - 0.2, results, lambda run: run.exposure.kl_true, "")
    _bar(axes, places + 0.2, results, lambda run: run.exposure.kl_own, "///")
    _name(axes, results)
    axes.set_ylabel("KL from the truth, nats per word")
    axes.set_title("plain: on the true text; hatched: on its own words", fontsize=9)


def _name(axes: Any, results: Sequence[RegimeResult]) -> None:
    labels = ["\n".join([*result.regime.split("-"), *result.options]) for result in results]
    axes.set_xticks(np.arange(len(results)), labels)
    axes.tick_params(axis="x", labelsize=7)


def _bar(
    axes: Any,
    places: np.ndarray,
    results: Sequence[RegimeResult],
    value: Callable[[RegimeRun], float],
    hatch: str,
) -> None:
    axes.bar(
        places,
        [result.mean(value) for result in results],
        0.38,
        yerr=np.nan_to_num([result.error(value) for result in results]),
        color=[colour(number) for number in range(len(results))],
        hatch=hatch,
        edgecolor="white",
    )


def _curves(axes: Any, results: Sequence[RegimeResult]) -> None:
    for number, result in enumerate(results):
        by_place = zip(*(run.exposure.places for run in result.runs), strict=True)
        shown = [
            (seeds[0].place, float(np.mean([seed.kl_own - seed.kl_true for seed in seeds])))
            for seeds in by_place
            if min(seed.words for seed in seeds) >= _FEWEST
        ]
        axes.plot(*zip(*shown, strict=True), marker="o", markersize=3, color=colour(number))
        axes.lines[-1].set_label(result.regime)
    axes.axhline(0, color="#bbbbbb", linewidth=0.8)
    axes.set_xlabel("words before it in the sentence (the last: that many or more)")
    axes.set_ylabel("exposure bias, nats per word")
    axes.legend(fontsize=7)


def draw_lengths(lengths: Lengths, path: Path) -> None:
    """The curves, each score at the mean length of its sources; the axis shows the bands."""
    figure, axes = new_figure(7, 4.2)
    places = np.array([band.mean_length for band in lengths.bands])
    for number, run in enumerate(lengths.runs):
        axes.plot(
            places,
            run.by_length,
            color=colour(number),
            marker=_MARKS[number % len(_MARKS)],
            markersize=5,
            label=f"{run.name} ({run.whole:.{lengths.digits}f} on all)",
        )
    axes.set_xticks(places, [band.name for band in lengths.bands])
    axes.set_ylim(0, 1.05 * max(score for run in lengths.runs for score in [*run.by_length, 1e-3]))
    axes.set_xlabel("length of the source, in words")
    axes.set_ylabel(lengths.measure_name)
    axes.grid(alpha=0.3)
    legend = figure.legend(loc="outside upper left", fontsize=8)
    for text in legend.get_texts():
        text.set_parse_math(False)
    save_figure(figure, path)
