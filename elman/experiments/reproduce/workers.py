"""Workers: several processes of the same command, each a queue on the same folder.

Their standard output is passed on. Their progress lines get the number of the worker in front.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from elman.errors import ElmanError, InputError
from elman.experiments.reproduce.side_by_side import measured_speeds, usable_cores

CHOICES = ("auto", "1", "2")


def share_out(wanted: str, threads: int | None, out: Path) -> tuple[int, int | None]:
    """The number of workers, and of threads per worker (None: the default of torch)."""
    if wanted not in CHOICES:
        raise InputError(f"--workers {wanted}: must be auto, 1 or 2")
    cores = usable_cores()
    if wanted == "auto":
        if cores < 2 or (threads or 1) > cores // 2:
            return 1, threads
        if threads is not None:
            return 2, threads
        wanted = str(measured_speeds(out).workers)
    if wanted == "1":
        return 1, threads
    return 2, threads or max(1, cores // 2)


def run_workers(
    arguments: Sequence[str], workers: int, *, say: Callable[[str], None], quiet: bool
) -> None:
    """Start workers with these arguments and wait for them; `quiet` drops their output."""
    command = [sys.executable, "-m", "elman", *arguments]
    output = subprocess.DEVNULL if quiet else None
    with ExitStack() as ending:
        begun = []
        for number in range(1, workers + 1):
            process = subprocess.Popen(
                command, stdout=output, stderr=subprocess.PIPE, text=True, errors="replace"
            )
            ending.callback(_end, process)
            reader = threading.Thread(target=_pass_on, args=(process, number, say), daemon=True)
            reader.start()
            begun.append((process, reader))
        for process, reader in begun:
            process.wait()
            reader.join()
    failed = [process.returncode for process, _ in begun if process.returncode]
    if failed:
        raise ElmanError(f"{len(failed)} of {workers} workers failed; see their messages above")


def _pass_on(process: subprocess.Popen[str], number: int, say: Callable[[str], None]) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        say(f"worker {number}: {line.rstrip()}")


def _end(process: subprocess.Popen[str]) -> None:
    """Stop a worker that is still running; it saves its work."""
    if process.poll() is None:
        process.terminate()
        process.wait()
