"""Rows that are measured on our own task, which is smaller than the published one.

A row gives the trainings that it needs, and their runs give one figure per seed. Such a row can
only show the order of the cells, so the verdict compares the order.
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

    folder: str  # the run folder, inside the folder of all runs
    recipe: str
    settings: tuple[str, ...]
    corpus: str  # a built-in corpus with its options
    seed: int


@dataclass(frozen=True)
class Outcome:
    """A figure over several seeds."""

    figures: dict[str, float]  # by seed
    parameters: int
    seconds: float  # total of all trainings
    about: str  # the protocol: the task and how it was measured

    @property
    def mean(self) -> float:
        """The mean over the seeds."""
        return statistics.fmean(self.figures.values())


def _ablation(row: PublishedRow) -> list[Trial]:
    """Train a cell on a task with known answers, once per seed."""
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
    """The trainings of an experiment row."""
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
