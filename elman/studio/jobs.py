"""Run all work except completions: one call per request, in a few threads, with a bounded queue.

Takes a function and returns its result; the routes of tasks call it. If the client disconnects or
the deadline passes, the work stops at its next progress report.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from elman.studio.errors import Busy, DeadlinePassed, ServerStopping
from elman.studio.limits import Limits


class Stopped(Exception):
    """The job was cancelled."""


class Job:
    """One piece of work; long work calls `go_on` now and then."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Make the next call of `go_on` raise `Stopped`."""
        self._stopped.set()

    def go_on(self, *_: Any) -> None:
        """Raise `Stopped` if the job was cancelled; takes the arguments of a progress report."""
        if self._stopped.is_set():
            raise Stopped


class Jobs:
    """The threads and the queue of jobs."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._threads = ThreadPoolExecutor(limits.jobs, thread_name_prefix="job")
        self._pending = 0
        self._timeouts: set[asyncio.Timeout] = set()  # of the jobs in progress
        self._cut = False

    async def run(self, function: Callable[[Job], Any]) -> Any:
        """Return the result of the function; 429 if too many wait, 503 after the deadline."""
        if self._cut:
            raise ServerStopping
        if self._pending >= self._limits.jobs + self._limits.jobs_waiting:
            raise Busy(self._limits.retry_after)
        job = Job()
        future = asyncio.get_running_loop().run_in_executor(self._threads, _do, function, job)
        self._pending += 1
        future.add_done_callback(self._done)
        timeout = asyncio.timeout(self._limits.deadline)
        self._timeouts.add(timeout)
        try:
            async with timeout:
                return await asyncio.shield(future)
        except TimeoutError:
            if self._cut:
                raise ServerStopping from None
            raise DeadlinePassed(self._limits.deadline) from None
        finally:
            self._timeouts.discard(timeout)
            job.stop()
            future.cancel()  # if it has not started

    def counts(self) -> dict[str, int]:
        """How many jobs are running or waiting."""
        return {"jobs": self._pending}

    def cut(self) -> None:
        """Stop: end all waiting with `ServerStopping`."""
        self._cut = True
        for timeout in self._timeouts:
            timeout.reschedule(asyncio.get_running_loop().time())

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _done(self, future: asyncio.Future[Any]) -> None:
        self._pending -= 1
        if not future.cancelled():
            future.exception()  # retrieved, so asyncio does not log it


def _do(function: Callable[[Job], Any], job: Job) -> Any:
    job.go_on()
    with torch.inference_mode():
        return function(job)
