"""Work that is no continuation: one call per request, in a few threads, with a bounded queue.

Takes a function, gives what it returns; called by the routes of tasks. A client that has gone, or a
deadline that has passed, stops the work at its next report of progress.
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
    """Nobody waits for the result any more."""


class Job:
    """One piece of work; long work asks `go_on` now and then."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Let it end when it asks next."""
        self._stopped.set()

    def go_on(self, *_: Any) -> None:
        """Nothing, or `Stopped`; takes what a report of progress takes."""
        if self._stopped.is_set():
            raise Stopped


class Jobs:
    """The threads, and who waits for them."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._threads = ThreadPoolExecutor(limits.jobs, thread_name_prefix="job")
        self._pending = 0
        self._timeouts: set[asyncio.Timeout] = set()  # of those that somebody waits for
        self._cut = False

    async def run(self, function: Callable[[Job], Any]) -> Any:
        """What the function gives; 429 if too many wait, 503 after the deadline."""
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
            future.cancel()  # if it has not begun

    def counts(self) -> dict[str, int]:
        """How many are being done or wait."""
        return {"jobs": self._pending}

    def cut(self) -> None:
        """The server stops: nobody waits any longer."""
        self._cut = True
        for timeout in self._timeouts:
            timeout.reschedule(asyncio.get_running_loop().time())

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _done(self, future: asyncio.Future[Any]) -> None:
        self._pending -= 1
        if not future.cancelled():
            future.exception()  # was looked at, so nobody complains


def _do(function: Callable[[Job], Any], job: Job) -> Any:
    job.go_on()
    with torch.inference_mode():
        return function(job)
