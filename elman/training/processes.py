"""The processes that train together, on one machine or many, and how they come together and part.

`torchrun` starts the processes; `joined` brings them together and gives each a `Processes`, which
the trainer, the loop and the run folder ask. Alone, a process gets the plain one, whose answers
are what was asked; torch.distributed is not even imported. One of several gets that of
`several_processes.py`.
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

    Parameters = Iterable[torch.nn.Parameter]

_LAUNCHED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")  # what torchrun says


class WorkerLost(ElmanError):
    """Another process has gone, so that no step can be taken any more."""


class Processes:
    """One process, which has nobody to ask."""

    rank = 0
    count = 1

    def check(self, batch_size: int) -> None:
        """Refuse a batch that cannot be shared out evenly."""

    def check_regime(self, name: str, learns: bool) -> None:
        """Refuse a regime that learns something itself, which would differ between processes."""

    def device(self, name: str) -> str:
        """The device of this process."""
        return name

    def seed(self, seed: int) -> None:
        """Give the process random numbers of its own, once the model is built."""

    def copy_first(self, tensors: Iterable[torch.Tensor]) -> None:
        """Put the numbers of the first process into tensors."""

    def share(self, batch: Batch) -> tuple[Batch, int]:
        """This process's rows of a batch; and 1, or 0 if they are another's and do not count."""
        return batch, 1

    def average(
        self, parameters: Parameters, weight: int, nats: torch.Tensor, tokens: int
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
        """The largest of what the processes say, each by itself; nobody goes on before all did."""
        return list(values)

    def gather(self, memory: Tensors) -> Tensors:
        """What the processes remember, on the first one: that of another as `process/1/…`."""
        return memory

    def own(self, memory: Tensors) -> Tensors:
        """What this process remembers, from what `gather` gave."""
        return memory

    def resume_command(self, run: Path) -> str:
        """How to go on with a run."""
        return resume_command(self.count, self.count, run)


@contextmanager
def joined(device: str = "cpu") -> Iterator[Processes]:
    """All processes that torchrun has started; just this one if it has not.

    If the training fails or is stopped, each of them comes to know; one says it, and the others
    end without a word.
    """
    if not all(name in os.environ for name in _LAUNCHED) or os.environ["WORLD_SIZE"] == "1":
        yield Processes()
        return
    from elman.training.several_processes import SeveralProcesses

    processes = SeveralProcesses(device)
    if threading.current_thread() is threading.main_thread():  # Python hands signals to no other
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
    """An error unless a run is gone on with by as many processes as it was saved by."""
    if processes.count != count:
        raise InputError(
            f"{run}: is trained by {count} process{'es' if count > 1 else ''}, not by "
            f"{processes.count}; go on with: {resume_command(count, count, run)}"
        )


def resume_command(count: int, on_machine: int, run: Path) -> str:
    """How so many processes go on with a run, of which so many are on each machine."""
    launcher = "elman"
    if count > 1:
        machines = "" if on_machine == count else f"--nnodes {count // on_machine} … "
        launcher = f"torchrun {machines}--nproc-per-node {on_machine} -m elman"
    return f"{launcher} train --resume {shlex.quote(str(run))}"


def _end_at_once(code: int) -> None:
    """Without torch's farewell to processes that are no longer there, which takes seconds."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
