"""When a queue must end: its time is up, or the process that started it has ended.

Inside `Deadline.stopping`, the end arrives as the signal SIGTERM. A training finishes its step,
saves a checkpoint and stops. All other work is interrupted by `OutOfTime` and repeated next time. A
SIGTERM from outside has the same effect and also ends the command.
"""

from __future__ import annotations

import _thread
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from elman.errors import ElmanError

_POLL = 0.5  # seconds between checks of the clock


class OutOfTime(ElmanError):
    """The time is up; this is not an error."""


class Terminated(ElmanError):
    """SIGTERM was sent from outside."""

    exit_code = 128 + signal.SIGTERM


class Deadline:
    """The time at which running work is stopped and no more work is started."""

    def __init__(self, seconds: float, *, with_parent: bool = False) -> None:
        """`with_parent`: also end when the process that started this one ends."""
        self._end = time.monotonic() + seconds
        self._parent = os.getppid() if with_parent else None
        self._terminated = False

    @property
    def left(self) -> float:
        """Seconds until the deadline; 0 after it."""
        if self._parent is not None and os.getppid() != self._parent:
            return 0.0
        return max(0.0, self._end - time.monotonic())

    def is_over(self) -> bool:
        """Whether the deadline has passed."""
        return self.left == 0.0

    def raise_if_stopped(self) -> None:
        """Raise the error of a stop again, in case the interrupted code has hidden it.

        Libraries may catch it, for example during an import that then fails in some other way.
        """
        if self._terminated:
            raise Terminated("stopped; run the same command again to continue")
        if self.is_over():
            raise OutOfTime("the time is up")

    @contextmanager
    def stopping(self) -> Iterator[None]:
        """Stop the work inside when the time is up."""
        if threading.current_thread() is not threading.main_thread():
            yield  # Python delivers signals only to the main thread
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
        # Repeat the signal: a training that is about to end no longer reacts to it.
        while not done.wait(min(_POLL, self.left or _POLL)):
            if self.is_over():
                _thread.interrupt_main(signal.SIGTERM)

    def _stop(self, number: int, frame: object) -> None:
        self._terminated = not self.is_over()
        self.raise_if_stopped()
