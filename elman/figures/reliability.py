"""Reliability diagram: the accuracy of predictions by their confidence.

Takes a `Calibration`, writes PNG or SVG; called by `elman evaluate --reliability`. Bars on the
diagonal are calibrated; bars below it are overconfident.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from elman.evaluation.calibration import BINS, Calibration, Reliability
from elman.figures.files import new_figure, save_figure


def draw_reliability(calibration: Calibration, path: Path) -> None:
    """One panel, or two if a temperature was fitted: before and after."""
    panels = [("temperature 1", calibration.uncalibrated)]
    if calibration.temperature != 1:
        panels.append((f"temperature {calibration.temperature:.3g}", calibration.reliability))
    figure, _ = new_figure(4.6 * len(panels), 4.4, columns=len(panels))
    for one, (title, reliability) in zip(figure.axes, panels, strict=True):
        _draw(one, reliability, calibration.unit)
        one.set_title(f"{title}: calibration error {reliability.error:.4f}", fontsize=10)
    save_figure(figure, path)


def _draw(axes: Any, reliability: Reliability, unit: str) -> None:
    shown = [one for one in reliability.bins if one.predictions]
    total = sum(one.predictions for one in shown)
    places = [(one.low + one.high) / 2 for one in shown]
    heights = [one.share_right for one in shown]
    axes.bar(places, heights, 0.9 / BINS, color="#1f6fc4", label=f"share of {unit} that are right")
    sizes = [one.predictions / max(total, 1) for one in shown]
    axes.plot(
        places, sizes, color="#c8500a", marker="o", markersize=3, label=f"share of all {unit}"
    )
    axes.plot([0, 1], [0, 1], color="#555555", linestyle="--", linewidth=1, label="calibrated")
    axes.set(xlim=(0, 1), ylim=(0, 1.02))
    axes.set_xlabel("predicted probability")
    axes.set_ylabel("share")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="upper left")
