"""Rows that are measured on a task of our own, smaller than the published one.

Takes a row, gives a mean and its spread over seeds. What such a row can show is the order of the
cells, so its verdict is about that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from elman.errors import choose
from elman.experiments.ablation import SEEDS, run_ablation
from elman.experiments.reproduce.registry import PublishedRow


@dataclass(frozen=True)
class Outcome:
    """A figure over several seeds."""

    mean: float
    spread: float
    parameters: int
    seconds: float  # of all trainings together
    about: str  # the task and how it was measured, as a protocol


Progress = Callable[[str], None]


def _ablation(row: PublishedRow, out: Path, progress: Progress) -> Outcome:
    """How often a cell foretells the next character, on a task whose answers are determined."""
    (result,) = run_ablation([row.cell], task=row.task, seeds=SEEDS, out=out, progress=progress)
    return Outcome(
        mean=result.mean,
        spread=result.spread,
        parameters=result.runs[0].parameters,
        seconds=sum(run.seconds for run in result.runs),
        about=f"{row.task}, smaller than published · next characters foretold · "
        f"mean of {len(SEEDS)} seeds",
    )


EXPERIMENTS = {"ablation": _ablation}


def run_experiment(row: PublishedRow, out: Path, progress: Progress) -> Outcome:
    """Measure a row; what it writes goes into the folder `out`."""
    return choose(EXPERIMENTS, row.experiment, "experiment")(row, out / row.experiment, progress)
