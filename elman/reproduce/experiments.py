"""Rows that are measured on a task of our own, smaller than the published one.

Takes a row, gives a mean and its spread over seeds. What such a row can show is the order of the
cells, so its verdict is about that.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from elman.errors import choose
from elman.reproduce.registry import Row

SEEDS = (0, 1, 2)
_ABLATION = "elman.tasks.ablation"  # looked up when it is needed


@dataclass(frozen=True)
class Outcome:
    """A figure over several seeds."""

    mean: float
    spread: float
    seconds: float
    about: str  # the task and how it was measured, as a protocol


Progress = Callable[[str], None]


def _ablation(row: Row, out: Path, progress: Progress) -> Outcome:
    """Accuracy of a cell on sums and differences, spelled out in digits."""
    started = time.perf_counter()
    (result,) = import_module(_ABLATION).run_ablation(
        [row.cell], task="arithmetic", seeds=SEEDS, out=out / row.cell, progress=progress
    )
    about = f"arithmetic · accuracy of the next character · mean of {len(SEEDS)} seeds"
    return Outcome(result.mean, result.spread, time.perf_counter() - started, about)


EXPERIMENTS = {"ablation": _ablation}


def run_experiment(row: Row, out: Path, progress: Progress) -> Outcome:
    """Measure a row; what it writes goes into the folder `out`."""
    return choose(EXPERIMENTS, row.experiment, "experiment")(row, out / row.experiment, progress)


def missing(row: Row) -> str:
    """Why an experiment cannot be run; empty if it can."""
    if row.experiment == "ablation" and find_spec(_ABLATION) is None:
        return "this elman has no task for it"
    return ""
