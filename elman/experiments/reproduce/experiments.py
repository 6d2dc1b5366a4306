"""Rows that are measured on a task of our own, smaller than the published one.

Takes a row, gives the trainings that it needs, and from their runs a figure per seed. Such a row
can show the order of the cells, so its verdict is about that.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path

from elman.errors import choose
from elman.experiments.ablation import SEEDS, TASKS, measure_run, seeded_text
from elman.experiments.reproduce.registry import PublishedRow


@dataclass(frozen=True)
class Trial:
    """One training of an experiment."""

    folder: str  # of its run, in the folder of all runs
    recipe: str
    settings: tuple[str, ...]
    corpus: str  # built-in, with its options
    seed: int


@dataclass(frozen=True)
class Outcome:
    """A figure over several seeds."""

    figures: dict[str, float]  # by seed
    parameters: int
    seconds: float  # of all trainings together
    about: str  # the task and how it was measured, as a protocol

    @property
    def mean(self) -> float:
        """The mean over the seeds."""
        return statistics.fmean(self.figures.values())


def _ablation(row: PublishedRow) -> list[Trial]:
    """A cell on a task whose answers are determined, once per seed."""
    task = choose(TASKS, row.task, "task")
    return [
        Trial(
            folder=f"ablation/{row.task}-{row.cell}-{seed}",
            recipe=task.recipe,
            settings=(f"model.cell={row.cell}",),
            corpus=seeded_text(task.data, seed),
            seed=seed,
        )
        for seed in SEEDS
    ]


EXPERIMENTS = {"ablation": _ablation}


def trials_of(row: PublishedRow) -> list[Trial]:
    """The trainings of a row that is an experiment."""
    found: list[Trial] = choose(EXPERIMENTS, row.experiment, "experiment")(row)
    return found


def measure_experiment(row: PublishedRow, runs: Path) -> Outcome:
    """Measure a row whose trainings are finished in the folder `runs`."""
    after = TASKS[row.task].after
    found = [
        measure_run(runs / trial.folder, trial.corpus, after, trial.seed)
        for trial in trials_of(row)
    ]
    return Outcome(
        figures={str(run.seed): run.accuracy for run in found},
        parameters=found[0].parameters,
        seconds=sum(run.seconds for run in found),
        about=f"{row.task}, smaller than published · next characters foretold · "
        f"mean of {len(found)} seeds",
    )
