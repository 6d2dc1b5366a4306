"""The queue: measure rows one by one, best first, until the time is up.

Results are stored and given one by one. Several processes can work on the same folder, because each
claims the rows and trainings that it works on. A row that fails is set aside with its reason, and
the queue continues. A row that does not fit into the remaining time is started only if no other row
fits; the next call continues it from its checkpoint.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from elman.errors import DiskFull
from elman.experiments.reproduce.claims import claiming
from elman.experiments.reproduce.deadline import Deadline, OutOfTime, Terminated
from elman.experiments.reproduce.measuring import measure_and_keep
from elman.experiments.reproduce.ranking import Job, Ranked, pending_jobs, rank_jobs
from elman.experiments.reproduce.registry import PublishedRow, PublishedTable
from elman.experiments.reproduce.results import Failure, Kept, Result, update_kept
from elman.experiments.reproduce.workshop import Workshop
from elman.runs.lock import is_being_trained
from elman.version import __version__

_WAIT = 2.0  # seconds, if other processes work on everything that is left

Rows = Sequence[tuple[PublishedTable, PublishedRow, str]]


def work_off(
    workshop: Workshop, rows: Rows, deadline: Deadline, first: Sequence[str] = ()
) -> Iterator[tuple[Job, Result]]:
    """Measure the rows without a result; yields each result once it is stored."""
    from elman.training.loop import Stopped

    while not deadline.is_over():
        ranked = rank_jobs(workshop, rows, first)
        if not ranked:
            return
        with _claim_best(workshop, rows, ranked, deadline.left) as chosen:
            if chosen is None:
                time.sleep(min(_WAIT, deadline.left))
                continue
            job = chosen.job
            workshop.progress(f"{job.name}: {chosen.cost} to train")
            try:
                with deadline.stopping():
                    result = _measure(workshop, job, deadline)
            except OutOfTime:
                return
            except Stopped:
                if deadline.is_over():
                    return
                raise
            except (DiskFull, Terminated):
                raise
            except Exception as error:  # the other rows can still be measured
                if not _is_busy(workshop, chosen):
                    _set_aside(workshop, job, error)
                continue
        yield job, result


def _measure(workshop: Workshop, job: Job, deadline: Deadline) -> Result:
    try:
        return measure_and_keep(workshop, job.table, job.row, job.data, job.number)
    except DiskFull:
        raise
    except Exception:
        deadline.raise_if_stopped()  # not the fault of the row
        raise


@contextmanager
def _claim_best(
    workshop: Workshop, rows: Rows, ranked: list[Ranked], left: float
) -> Iterator[Ranked | None]:
    """Claim the best free job that fits into the time; if none fits, the best free job."""
    fitting = [one for one in ranked if one.seconds <= left]
    others = [one for one in ranked if one.seconds > left]
    for one in [*fitting, *others]:
        if _is_busy(workshop, one):
            continue
        names = [*one.needed, f"row-{one.job.row_name}-{one.job.number}"]
        with claiming(workshop.out / "claims", names) as claimed:
            # Another process may have stored the result since the ranking.
            if claimed and one.job in pending_jobs(workshop, rows, workshop.kept()):
                yield one
                return
    yield None


def _is_busy(workshop: Workshop, ranked: Ranked) -> bool:
    """Whether a process trains one of these runs, perhaps without a claim (`elman train`)."""
    return any(is_being_trained(workshop.runs / name) for name in ranked.needed)


def _set_aside(workshop: Workshop, job: Job, error: Exception) -> None:
    reason = " ".join(str(error).split()) or type(error).__name__
    today = datetime.now(UTC).date().isoformat()

    def add(kept: Kept) -> None:
        kept.failures[job.row_name] = Failure(reason=reason, elman=__version__, date=today)

    update_kept(workshop.results, add)
    command = f"elman reproduce {job.table.name} --row {job.row.name}"
    workshop.say(f"{job.name}: set aside ({reason}); try again with: {command}")
