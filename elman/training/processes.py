"""The processes that train together, on one machine or several: how they join and leave.

`torchrun` starts the processes; `joined` connects them and gives each a `Processes`, which the
trainer, the loop and the run folder use. A single process gets the plain one, whose methods do
nothing; torch.distributed is not even imported. One of several gets that of `several_processes.py`.
"""

from __future__ import annotations

import atexit
import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from elman.errors import ElmanError, InputError

if TYPE_CHECKING:  # count models are trained without torch
    import torch

    from elman.batches import Batch
    from elman.training.snapshot import Tensors

_LAUNCHED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")  # set by torchrun


class WorkerLost(ElmanError):
    """Another process was lost, so training cannot continue."""


class Processes:
    """A single process."""

    rank = 0
    count = 1

    def check(self, batch_size: int) -> None:
        """Refuse a batch size that cannot be divided evenly."""

    def check_regime(self, name: str, learns: bool) -> None:
        """Refuse a regime with weights of its own, which would differ between processes."""

    def device(self, name: str) -> str:
        """The device of this process."""
        return name

    def seed(self, seed: int) -> None:
        """Give the process its own random numbers, once the model is built."""

    def copy_first(self, tensors: Iterable[torch.Tensor]) -> None:
        """Copy the tensors of the first process."""

    def share(self, batch: Batch) -> tuple[Batch, int]:
        """The rows of a batch for this process, with weight 1, or 0 if they do not count."""
        return batch, 1

    def average(
        self, parameters: Iterable[torch.nn.Parameter], weight: int, nats: torch.Tensor, tokens: int
    ) -> tuple[float, int]:
        """Average the gradients over the processes by weight; nats and tokens of all of them.

        A process of weight 0 counts for nothing.
        """
        return float(nats), tokens

    def first(self, value: float) -> float:
        """What the first process says."""
        return value

    def first_text(self, text: str) -> str:
        """What the first process says."""
        return text

    def largest(self, *values: int) -> list[int]:
        """The elementwise maximum over the processes; each waits for all others."""
        return list(values)

    def gather(self, memory: Tensors) -> Tensors:
        """Collect the memory of all processes on the first one, others as `process/1/…`."""
        return memory

    def own(self, memory: Tensors) -> Tensors:
        """The memory of this process, from the result of `gather`."""
        return memory

    def resume_command(self, run: Path) -> str:
        """The command that continues a run."""
        return resume_command(self.count, self.count, run)


@contextmanager
def joined(device: str = "cpu") -> Iterator[Processes]:
    """All processes started by torchrun; only this one without torchrun.

    If the training fails or is stopped, all of them end; one prints the message, the others end
    silently.
    """
    if not all(name in os.environ for name in _LAUNCHED) or os.environ["WORLD_SIZE"] == "1":
        yield Processes()
        return
    from elman.training.several_processes import SeveralProcesses

    processes = SeveralProcesses(device)
    if threading.current_thread() is threading.main_thread():  # the only one that gets signals
        for number in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
            if signal.getsignal(number) != signal.SIG_IGN:  # `nohup`
                signal.signal(number, processes.heed)
    try:
        yield processes
    except ElmanError as error:
        if isinstance(error, WorkerLost):
            atexit.register(_end_at_once, error.exit_code)
        if processes.speaks():
            raise
        raise SystemExit(error.exit_code) from None
    processes.leave()


def refuse_other_count(processes: Processes, count: int, run: Path) -> None:
    """Refuse to continue a run with another number of processes than it was saved with."""
    if processes.count != count:
        raise InputError(
            f"{run}: is trained by {count} process{'es' if count > 1 else ''}, not by "
            f"{processes.count}; continue with: {resume_command(count, count, run)}"
        )


def resume_command(count: int, on_machine: int, run: Path) -> str:
    """The command that continues a run with `count` processes, `on_machine` on each machine."""
    launcher = "elman"
    if count > 1:
        machines = "" if on_machine == count else f"--nnodes {count // on_machine} … "
        launcher = f"torchrun {machines}--nproc-per-node {on_machine} -m elman"
    return f"{launcher} train --resume {shlex.quote(str(run))}"


def _end_at_once(code: int) -> None:
    """Exit without torch's shutdown, which waits seconds for processes that are gone."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
