"""When a queue must end: its time is up, or the process that started it has ended.

While work is done inside `Deadline.stopping`, the end is announced as the signal SIGTERM is: a
training finishes its step, saves a checkpoint and stops; anything else is cut short by `OutOfTime`
and done again next time. A real SIGTERM has the same effect and ends the command.
"""

from __future__ import annotations

import _thread
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from elman.errors import ElmanError, InputError

_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
_POLL = 0.5  # seconds between looks at the clock


class OutOfTime(ElmanError):
    """The time is up; nothing is wrong."""


class Terminated(ElmanError):
    """SIGTERM came from outside."""

    exit_code = 128 + signal.SIGTERM


def parse_budget(text: str) -> float:
    """Seconds of "45s", "30m", "2h", "1.5h"."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]+)", text.strip())
    if match is None or match.group(2) not in _UNITS:
        raise InputError(f"--budget {text}: write a time like 45s, 30m or 2h")
    return float(match.group(1)) * _UNITS[match.group(2)]


class Deadline:
    """A moment from which nothing more is begun, and work under way is stopped."""

    def __init__(self, seconds: float, *, with_parent: bool = False) -> None:
        """`with_parent`: the end of the process that started this one is the end too."""
        self._end = time.monotonic() + seconds
        self._parent = os.getppid() if with_parent else None

    @property
    def left(self) -> float:
        """Seconds until then; 0 afterwards."""
        if self._parent is not None and os.getppid() != self._parent:
            return 0.0
        return max(0.0, self._end - time.monotonic())

    def is_over(self) -> bool:
        """Whether the moment has come."""
        return self.left == 0.0

    @contextmanager
    def stopping(self) -> Iterator[None]:
        """While inside, work is stopped when the time is up."""
        if threading.current_thread() is not threading.main_thread():
            yield  # Python hands signals to the main thread only
            return
        before = signal.signal(signal.SIGTERM, self._stop)
        done = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(done,), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()
            signal.signal(signal.SIGTERM, before)

    def _watch(self, done: threading.Event) -> None:
        # Again and again: a training that is just ending does not look at signals any more.
        while not done.wait(min(_POLL, self.left or _POLL)):
            if self.is_over():
                _thread.interrupt_main(signal.SIGTERM)

    def _stop(self, number: int, frame: object) -> None:
        if self.is_over():
            raise OutOfTime("the time is up")
        raise Terminated("stopped; the same command goes on")
