"""Picture of minimal pairs: accuracy by number of attractors, or by paradigm.

Takes the `PairScores` of several runs, writes PNG or SVG; called by `elman minimal-pairs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elman.figures.files import new_figure, save_figure

if TYPE_CHECKING:
    from elman.evaluation.pair_accuracy import Score
    from elman.tasks.language_modelling.minimal_pairs import PairScores

_COLOURS = ("#333333", "#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#66a61e", "#a6761d")
_MOST = 30  # paradigms; more are drawn by phenomenon


def draw_accuracies(scores: Sequence[PairScores], path: Path) -> None:
    """Draw the accuracies of all runs with their 95 % intervals."""
    if len(scores[0].by_attractors) > 1:
        figure, axes = new_figure(6, 4)
        _draw_curves(axes, scores)
    else:
        fine = len(scores[0].by_paradigm) <= _MOST or not scores[0].by_term
        groups = [score.by_paradigm if fine else score.by_term for score in scores]
        figure, axes = new_figure(8, 1.5 + 0.09 * len(groups[0]) * (len(scores) + 1))
        _draw_rows(axes, [score.run for score in scores], groups)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    save_figure(figure, path)


def _draw_curves(axes: Any, scores: Sequence[PairScores]) -> None:
    for number, run in enumerate(scores):
        points = [one for one in run.by_attractors if one.items]
        places = [int(one.name) + 0.04 * (number - len(scores) / 2) for one in points]
        shares, errors = _heights(points)
        colour = _COLOURS[number % len(_COLOURS)]
        axes.errorbar(places, shares, errors, fmt="o-", capsize=3, color=colour, label=run.run)
    axes.axhline(50, color="#bbbbbb", linestyle="--", linewidth=0.8)
    axes.set_xticks(sorted({int(one.name) for run in scores for one in run.by_attractors}))
    axes.set_ylim(0, 102)
    axes.set_xlabel("attractors between subject and verb")
    axes.set_ylabel("accuracy, % (lines: 95 %)")


def _draw_rows(axes: Any, names: Sequence[str], groups: Sequence[Sequence[Score]]) -> None:
    step = 0.7 / len(groups)
    for number, (name, scores) in enumerate(zip(names, groups, strict=True)):
        kept = [(place, one) for place, one in enumerate(scores) if one.items]
        shares, errors = _heights([one for _, one in kept])
        places = [place + (number - (len(groups) - 1) / 2) * step for place, _ in kept]
        colour = _COLOURS[number % len(_COLOURS)]
        axes.errorbar(shares, places, xerr=errors, fmt="o", markersize=4, color=colour, label=name)
    axes.set_yticks(range(len(groups[0])), [one.name for one in groups[0]], fontsize=8)
    axes.invert_yaxis()
    axes.axvline(50, color="#bbbbbb", linestyle="--", linewidth=0.8)
    axes.set_xlabel("accuracy, % (lines: 95 %)")


def _heights(scores: Sequence[Score]) -> tuple[np.ndarray, np.ndarray]:
    """Accuracies in %, and the distances to the ends of their intervals, (2, N)."""
    shares = np.array([one.right / one.items for one in scores])
    limits = np.array([one.interval or (0.0, 1.0) for one in scores]).T.reshape(2, -1)
    return 100 * shares, 100 * np.maximum(np.abs(limits - shares), 0)
