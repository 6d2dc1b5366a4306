"""Run commands of elman in forked child processes, so that they start without delay.

The parent imports everything and runs no other threads. A child runs the real command line in its
own session, with its output in files and its limits set before it starts.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch

from elman import cli
from elman.tasks import training_run


def prepare() -> None:
    """Import everything once, and turn off drawing curves, which takes longer than a trial."""
    torch.set_num_threads(1)
    torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))]).step()
    import elman.tasks.language_modelling.task
    import elman.tasks.planning
    import elman.tasks.task
    import elman.tasks.translation.trained  # noqa: F401

    training_run.draw_curves = lambda records, path: None  # type: ignore[attr-defined]
    gc.collect()
    gc.freeze()


@dataclass
class Ended:
    """How a command ended."""

    code: int  # negative: the signal that ended the process
    out: str
    err: str
    seconds: float
    megabytes: float  # peak memory

    @property
    def traceback(self) -> bool:
        """Whether it printed a traceback."""
        marks = ("Traceback", "Exception ignored", "panicked", "Fatal Python error")
        return any(mark in self.err for mark in marks)

    @property
    def one_line(self) -> bool:
        """Whether it printed exactly one error line."""
        return len([line for line in self.err.splitlines() if line.startswith("elman: ")]) == 1


class Command:
    """A command that runs in a child process."""

    def __init__(
        self,
        arguments: Sequence[str],
        place: Path,
        *,
        before: Callable[[], None] = lambda: None,
        out: Path | None = None,
    ) -> None:
        """`place`: a folder for its output; `before`: called in the child, to set limits."""
        self._files = [out or place / f"out{time.monotonic_ns()}"]
        self._files.append(place / f"err{time.monotonic_ns()}")
        self._started = time.monotonic()
        self._ended: Ended | None = None
        sys.stdout.flush()
        self.number = os.fork()
        if self.number == 0:
            self._live(arguments, before)

    def _live(self, arguments: Sequence[str], before: Callable[[], None]) -> None:
        code = 70
        try:
            os.setsid()
            for descriptor, file in zip((1, 2), self._files, strict=True):
                opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                os.dup2(opened, descriptor)
                os.close(opened)
            devnull = os.open(os.devnull, os.O_RDONLY)
            os.dup2(devnull, 0)
            os.close(devnull)
            before()
            code = cli.run([*arguments])
            sys.stdout.flush()
        except BaseException:
            import traceback

            with suppress(BaseException):
                traceback.print_exc()
        finally:
            with suppress(BaseException):
                sys.stderr.flush()
            os._exit(code)

    def signal(self, number: int) -> None:
        """Send a signal, unless the command has ended."""
        if self._ended is None:
            with suppress(ProcessLookupError):
                os.kill(self.number, number)

    def poll(self) -> Ended | None:
        """How the command ended; None if it is still running."""
        return self._wait(os.WNOHANG)

    def wait(self, seconds: float = 120.0) -> Ended:
        """Wait for the command; kill it if it takes too long (its code is then -SIGKILL)."""
        latest = time.monotonic() + seconds
        while (ended := self.poll()) is None:
            if time.monotonic() > latest:
                self.signal(signal.SIGKILL)
                latest = float("inf")
            time.sleep(0.005)
        return ended

    def _wait(self, flags: int) -> Ended | None:
        if self._ended is not None:
            return self._ended
        number, status, used = os.wait4(self.number, flags)
        if number == 0:
            return None
        texts = []
        for file in self._files:
            try:
                texts.append(file.read_text(errors="replace") if file.is_file() else "")
                if file.is_file():
                    file.unlink()
            except OSError:
                texts.append("")
        code = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - self._started
        self._ended = Ended(code, texts[0], texts[1], seconds, used.ru_maxrss / 1024)
        return self._ended


def own_megabytes() -> float:
    """The memory of this process, with which a forked child starts."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6
