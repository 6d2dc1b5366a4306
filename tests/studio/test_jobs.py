"""Jobs in a few threads: limits, deadlines, cancellation."""

import asyncio
import threading
import time
from typing import Any

import pytest

from elman.errors import InputError
from elman.studio.errors import Busy, DeadlinePassed
from elman.studio.jobs import Job, Jobs
from elman.studio.limits import Limits


def endless(job: Job) -> None:
    while True:
        job.go_on()
        time.sleep(0.005)


async def until_idle(jobs: Jobs) -> None:
    for _ in range(400):
        if jobs.counts()["jobs"] == 0:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(jobs.counts())


def test_results_and_errors_come_back() -> None:
    async def work() -> None:
        jobs = Jobs(Limits())
        assert await jobs.run(lambda job: 42) == 42

        def wrong(job: Job) -> None:
            raise InputError("no")

        with pytest.raises(InputError, match="no"):
            await jobs.run(wrong)
        await until_idle(jobs)
        jobs.close()

    asyncio.run(work())


def test_too_many_are_refused_and_cost_nothing() -> None:
    async def work() -> None:
        jobs = Jobs(Limits(jobs=1, jobs_waiting=2))
        go = threading.Event()
        tasks = [asyncio.ensure_future(jobs.run(lambda job: go.wait(10))) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await jobs.run(lambda job: 1)
        go.set()
        assert await asyncio.gather(*tasks) == [True] * 3
        assert await jobs.run(lambda job: 1) == 1
        jobs.close()

    asyncio.run(work())


@pytest.mark.parametrize("how", ["deadline", "gone"])
def test_endless_work_ends(how: str) -> None:
    async def work() -> None:
        jobs = Jobs(Limits(deadline=0.1 if how == "deadline" else 60))
        task = asyncio.ensure_future(jobs.run(endless))
        expected: Any = DeadlinePassed
        if how == "gone":
            await asyncio.sleep(0.05)
            task.cancel()
            expected = asyncio.CancelledError
        with pytest.raises(expected):
            await task
        await until_idle(jobs)
        jobs.close()

    asyncio.run(work())
