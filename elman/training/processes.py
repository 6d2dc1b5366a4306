"""Training with several processes, on one machine or many: all that is known of it is here.

`torchrun` starts the processes; `joined` brings them together and gives each a `Processes`, which
the trainer, the loop and the run folder ask. Alone, a process gets the plain one, whose answers
are what was asked; torch.distributed is not even imported.

    whole batch ── share ── loss, gradients ── average ── the same step on every process

Every process holds the same text, weights and optimizer, and takes its rows of every batch; so W
processes learn what one would from the same batch. Only carried state and random generators are a
process's own. What hangs on a clock or on a signal is decided together (`first`, `largest`): a
process that went another way would leave the others waiting. Nothing is pickled; only tensors
travel.
"""

from __future__ import annotations

import atexit
import os
import re
import shlex
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from elman.errors import ElmanError, InputError

if TYPE_CHECKING:  # count models are trained without torch
    import torch

    from elman.batches import Batch

    Tensors = dict[str, torch.Tensor]

_LAUNCHED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")  # what torchrun says
_OWN = ("carried", "random/")  # memory that each process has for itself
_PATIENCE = timedelta(minutes=5)  # with a process that is silent; one that has died is seen at once


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
        self,
        parameters: Iterable[torch.nn.Parameter],
        weight: int,
        nats: torch.Tensor,
        tokens: int,
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
        return _resume_command(self.count, self.count, run)


class _SeveralProcesses(Processes):
    """One of several processes; each method is called by all of them, in the same order."""

    def __init__(self, device: str) -> None:
        import torch.distributed as distributed
        from torch.distributed.rendezvous import rendezvous

        self._distributed = distributed
        self.rank, self.count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self._training = False
        self._on_machine = int(os.environ.get("LOCAL_WORLD_SIZE", self.count))
        backend = "cpu:gloo,cuda:nccl" if device.startswith("cuda") else "gloo"
        try:
            self._store, _, _ = next(rendezvous("env://", timeout=_PATIENCE))
            distributed.init_process_group(
                backend,
                store=self._store,
                rank=self.rank,
                world_size=self.count,
                timeout=_PATIENCE,
            )
        except RuntimeError as error:
            raise ElmanError(
                f"process {self.rank} of {self.count} did not find the others ({_reason(error)})"
            ) from None

    def check(self, batch_size: int) -> None:
        if batch_size % self.count:
            fitting = max(1, batch_size // self.count) * self.count
            raise InputError(
                f"training.batch_size={batch_size}: cannot be shared out to {self.count} "
                f"processes; give a multiple, as in --set training.batch_size={fitting}"
            )

    def check_regime(self, name: str, learns: bool) -> None:
        if learns:
            raise InputError(f"training.regime={name!r}: learns itself, so only with one process")

    def device(self, name: str) -> str:
        return f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if name == "cuda" else name

    def seed(self, seed: int) -> None:
        import numpy as np
        import torch

        if self.rank:
            # Far apart from those of other seeds and other processes, unlike a sum would be.
            drawn = np.random.SeedSequence([seed, self.rank]).generate_state(1, np.uint64)
            torch.manual_seed(int(drawn[0]))

    def copy_first(self, tensors: Iterable[torch.Tensor]) -> None:
        with _noticing_loss():
            for tensor in tensors:
                self._distributed.broadcast(tensor, src=0)

    def share(self, batch: Batch) -> tuple[Batch, int]:
        counts = int(self.rank < len(batch.inputs))
        # With fewer rows than processes, some repeat a row that does not count.
        rows = slice(self.rank, None, self.count) if counts else slice(0, 1)
        own = replace(
            batch,
            inputs=batch.inputs[rows],
            targets=batch.targets[rows],
            lengths=None if batch.lengths is None else batch.lengths[rows],
            learned=None if batch.learned is None else batch.learned[rows],
        )
        return own, counts

    def average(
        self,
        parameters: Iterable[torch.nn.Parameter],
        weight: int,
        nats: torch.Tensor,
        tokens: int,
    ) -> tuple[float, int]:
        # By hand, not by DistributedDataParallel: that lays the gradients out anew after its first
        # step, and the order in which three or more processes are summed hangs on where a number
        # lies. A resumed run would differ in the last bits. Little is lost: gradients through time
        # are ready at the end of the backward pass, so there is nothing to send meanwhile.
        import torch

        self._training = True
        learned = list(parameters)
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in learned]
        counts = float(weight > 0)
        known = [float(p.grad is not None) for p in learned]
        numbers = torch.tensor([weight, counts * tokens, *known], device=nats.device)
        parts = [*(g.flatten() * weight for g in gradients), nats.reshape(1) * counts, numbers]
        flat = torch.cat(parts)
        with _noticing_loss():
            self._distributed.all_reduce(flat)  # always of the same layout
        *sums, rest = torch.split(flat, [*(p.numel() for p in learned), len(numbers) + 1])
        all_nats, all_weights, all_tokens, *known = rest.tolist()
        for parameter, summed, somewhere in zip(learned, sums, known, strict=True):
            parameter.grad = (
                (summed / max(all_weights, 1)).view_as(parameter) if somewhere else None
            )
        return all_nats, round(all_tokens)

    def first(self, value: float) -> float:
        import torch

        said = torch.tensor([value], dtype=torch.float64)
        self.copy_first([said])
        return said.item()

    def first_text(self, text: str) -> str:
        import torch

        encoded = text.encode()
        length = int(self.first(len(encoded)))
        said = torch.zeros(length, dtype=torch.uint8)
        if self.rank == 0:
            said = torch.frombuffer(bytearray(encoded), dtype=torch.uint8)
        self.copy_first([said])
        return said.numpy().tobytes().decode()

    def largest(self, *values: int) -> list[int]:
        import torch

        said = torch.tensor(values)
        with _noticing_loss():
            self._distributed.all_reduce(said, self._distributed.ReduceOp.MAX)
        return said.tolist()

    def gather(self, memory: Tensors) -> Tensors:
        import torch

        gathered = dict(memory)
        for name in sorted(name for name in memory if name.startswith(_OWN)):
            mine = memory[name].cpu().contiguous()
            # As bytes: a backend need not know every type of number.
            sent = mine.flatten().view(torch.uint8)
            parts = [torch.empty_like(sent) for _ in range(self.count)] if self.rank == 0 else None
            if len(sent):  # nothing need not be sent, and gloo cannot
                with _noticing_loss():
                    self._distributed.gather(sent, parts, dst=0)
            for rank, part in list(enumerate(parts or []))[1:]:
                gathered[f"process/{rank}/{name}"] = part.view(mine.dtype).view(mine.shape)
        return gathered

    def own(self, memory: Tensors) -> Tensors:
        mine = f"process/{self.rank}/"
        shared = {key: value for key, value in memory.items() if not key.startswith("process/")}
        own = {key.removeprefix(mine): memory[key] for key in memory if key.startswith(mine)}
        return shared | own

    def resume_command(self, run: Path) -> str:
        return _resume_command(self.count, self._on_machine, run)

    def heed(self, number: int, frame: object) -> None:
        """A signal outside of the loop, which has an ear of its own for them.

        Before the training it ends this process at once. After it, the process is ending already;
        torchrun, which ends all when one has died, must not cut it off before it says why.
        """
        if not self._training:
            raise SystemExit(128 + number)

    def speaks(self) -> bool:
        """Whether nobody has said yet why the training ends."""
        try:
            return self._store.add("elman/said", 1) == 1
        except RuntimeError:  # nobody is there to be asked
            return True

    def leave(self) -> None:
        """Part from the others in peace."""
        self._distributed.destroy_process_group()


@contextmanager
def joined(device: str = "cpu") -> Iterator[Processes]:
    """All processes that torchrun has started; just this one if it has not.

    If the training fails or is stopped, each of them comes to know; one says it, and the others
    end without a word.
    """
    if not all(name in os.environ for name in _LAUNCHED) or os.environ["WORLD_SIZE"] == "1":
        yield Processes()
        return
    processes = _SeveralProcesses(device)
    if threading.current_thread() is threading.main_thread():  # Python hands signals to no other
        for number in (signal.SIGINT, signal.SIGTERM):
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
            f"{processes.count}; go on with: {_resume_command(count, count, run)}"
        )


def _resume_command(count: int, on_machine: int, run: Path) -> str:
    launcher = "elman"
    if count > 1:
        machines = "" if on_machine == count else f"--nnodes {count // on_machine} … "
        launcher = f"torchrun {machines}--nproc-per-node {on_machine} -m elman"
    return f"{launcher} train --resume {shlex.quote(str(run))}"


@contextmanager
def _noticing_loss() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise WorkerLost(f"a worker was lost ({_reason(error)})") from None


def _reason(error: RuntimeError) -> str:
    """What happened, without the place in torch's sources and the advice."""
    return re.sub(r"^\[[^]]*\] *", "", str(error).splitlines()[0]).split(". ")[0]


def _end_at_once(code: int) -> None:
    """Without torch's farewell to processes that are no longer there, which takes seconds."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
