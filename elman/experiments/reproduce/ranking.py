"""Which row comes next: the one that gives the most results for its time.

A job is a row with one of its seeds. The ranking gives `Ranked` jobs, best first. The values of all
rows that one training makes measurable are added up. Further seeds count less, and so do rows whose
results ship with elman.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from elman.errors import ElmanError
from elman.experiments.reproduce.measuring import missing_seeds
from elman.experiments.reproduce.registry import PublishedRow, PublishedTable
from elman.experiments.reproduce.results import Cost, Kept
from elman.experiments.reproduce.shipped import read_shipped
from elman.experiments.reproduce.status import obstacle
from elman.experiments.reproduce.trainings import Training, share_done, trainings_of
from elman.experiments.reproduce.workshop import Workshop

_SEED_SHARE = 0.5  # value of a further seed, relative to the seed before it
_SHIPPED_SHARE = 0.1  # value of a row whose result ships with elman, relative to other rows
_MEASURING = 20.0  # seconds to fit and score, roughly
_ADAPTER_SECONDS = {"dynamic": 600.0, "continuous-cache": 60.0, "monte-carlo": 3600.0}


@dataclass(frozen=True)
class Job:
    """A row with one of its seeds."""

    table: PublishedTable
    row: PublishedRow
    data: str  # the dataset
    number: int = 0  # which seed

    @property
    def row_name(self) -> str:
        return f"{self.table.name}/{self.row.name}"

    @property
    def name(self) -> str:
        """The name of the row, and the number of the seed unless it is the first."""
        return self.row_name + (f" (seed {self.number + 1})" if self.number else "")


@dataclass(frozen=True)
class Ranked:
    """A job with its missing trainings, cost and value."""

    job: Job
    needed: dict[str, Training]  # unfinished trainings, by run name
    seconds: float  # left to train and measure
    value: float  # total over all results that its trainings make measurable
    cost: Cost  # left to train

    @property
    def per_hour(self) -> float:
        return self.value / self.seconds * 3600


def pending_jobs(
    workshop: Workshop, rows: Iterable[tuple[PublishedTable, PublishedRow, str]], kept: Kept
) -> list[Job]:
    """Every row and seed that has no result here and was not set aside."""
    return [
        Job(table, row, data, number)
        for table, row, data in rows
        if not obstacle(row) and f"{table.name}/{row.name}" not in kept.failures
        for number in missing_seeds(workshop, table, row, kept)
    ]


def rank_jobs(
    workshop: Workshop,
    rows: Iterable[tuple[PublishedTable, PublishedRow, str]],
    first: Sequence[str] = (),
) -> list[Ranked]:
    """The remaining jobs, best first; those that match a pattern in `first` come before the others.

    Rows without a known time are left out: their dataset is missing.
    """
    kept, shipped = workshop.kept(), read_shipped()
    costs = kept.over(shipped).costs
    jobs = pending_jobs(workshop, rows, kept)
    done: dict[str, float] = {}
    needs = [_unfinished(workshop, job, done) for job in jobs]
    values = [_value(job, shipped) for job in jobs]
    ranked = []
    for place, (job, needed) in enumerate(zip(jobs, needs, strict=True)):
        cost = _left_to_train(needed, costs, done, workshop.machine.threads)
        if cost is None or cost.seconds is None:
            continue
        value = sum(
            values[other]
            for other, others in enumerate(needs)
            if other == place or (others and others.keys() <= needed.keys())
        )
        seconds = cost.seconds + _measuring_seconds(job.row)
        ranked.append(Ranked(job, needed, seconds, value, cost))
    return sorted(ranked, key=lambda one: (_place(one.job, first), -one.per_hour))


def _unfinished(workshop: Workshop, job: Job, done: dict[str, float]) -> dict[str, Training]:
    """The unfinished trainings of a job, by name; `done` caches how much of each is done."""
    found = {}
    trainings = trainings_of(workshop.tables, job.table, job.row, job.number)
    for training in trainings.values():
        name = training.name
        if name not in done:
            done[name] = _share_done(training, workshop.runs)
        if done[name] < 1:
            found[name] = training
    return found


def _share_done(training: Training, runs: Path) -> float:
    try:
        return share_done(training, runs)
    except ElmanError:
        return 0.0  # a damaged run is refused, with the reason, when its turn comes


def _value(job: Job, shipped: Kept) -> float:
    value = job.table.value if job.row.value is None else job.row.value
    result = shipped.of(job.table, job.row)
    known = 0 if result is None else len(result.by_seed())
    repeats = job.row.experiment or job.number < known
    return value * _SEED_SHARE**job.number * (_SHIPPED_SHARE if known and repeats else 1.0)


def _left_to_train(
    needed: dict[str, Training],
    costs: dict[str, Cost],
    done: dict[str, float],
    threads: int | None,
) -> Cost | None:
    """The remaining part of the planned cost; None if one of the trainings was not planned."""
    seconds, teraflop = 0.0, 0.0
    for name, training in needed.items():
        cost = costs.get(training.cost_name)
        planned = None if cost is None else cost.with_threads(threads)
        if cost is None or planned is None:
            return None
        seconds += planned * (1 - done[name])
        teraflop += (cost.teraflop or 0.0) * (1 - done[name])
    return Cost(seconds=seconds, teraflop=teraflop or None)


def _measuring_seconds(row: PublishedRow) -> float:
    """A rough estimate of the time for fitting and scoring."""
    names = [adapter.partition(":")[0] for adapter in row.adapters]
    return _MEASURING + sum(_ADAPTER_SECONDS.get(name, 0.0) for name in names)


def _place(job: Job, first: Sequence[str]) -> int:
    """The position of the first pattern that matches a row; the number of patterns if none does."""
    for place, pattern in enumerate(first):
        if fnmatchcase(job.row_name, pattern):
            return place
    return len(first)
