"""One of several processes that train together: the only user of torch.distributed.

    whole batch ── share ── loss, gradients ── average ── the same step on every process

Every process holds the same text, weights and optimizer, and takes its rows of every batch. So W
processes take the same step as one process with the same batch. Only carried state and random
generators differ. Decisions that depend on a clock or a signal are made together (`first`,
`largest`): a process that decided alone would leave the others waiting. Nothing is pickled; only
tensors are sent. Created by `joined` in `processes.py`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import numpy as np
import torch
import torch.distributed as distributed
from torch.distributed.rendezvous import rendezvous

from elman.batches import Batch
from elman.errors import ElmanError, InputError
from elman.training.processes import Processes, WorkerLost, resume_command
from elman.training.snapshot import Tensors

_OWN = ("carried", "random/")  # memory that differs between processes
_PATIENCE = timedelta(minutes=5)  # for a silent process; a dead one is detected at once


class SeveralProcesses(Processes):
    """One of several processes; each method is called by all of them, in the same order."""

    def __init__(self, device: str) -> None:
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
                f"process {self.rank} of {self.count} could not reach the others ({_reason(error)})"
            ) from None

    def check(self, batch_size: int) -> None:
        if batch_size % self.count:
            fitting = max(1, batch_size // self.count) * self.count
            raise InputError(
                f"training.batch_size={batch_size}: cannot be divided among {self.count} "
                f"processes; give a multiple, as in --set training.batch_size={fitting}"
            )

    def check_regime(self, name: str, learns: bool) -> None:
        if learns:
            raise InputError(
                f"training.regime={name!r}: has weights of its own, so it needs a single process"
            )

    def device(self, name: str) -> str:
        return f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if name == "cuda" else name

    def seed(self, seed: int) -> None:
        if self.rank:
            # Unlike a sum, this is far from the seeds of other runs and other processes.
            drawn = np.random.SeedSequence([seed, self.rank]).generate_state(1, np.uint64)
            torch.manual_seed(int(drawn[0]))

    def copy_first(self, tensors: Iterable[torch.Tensor]) -> None:
        with _noticing_loss():
            for tensor in tensors:
                distributed.broadcast(tensor, src=0)

    def share(self, batch: Batch) -> tuple[Batch, int]:
        counts = int(self.rank < len(batch))
        # With fewer rows than processes, some repeat a row that does not count.
        rows = slice(self.rank, None, self.count) if counts else slice(0, 1)
        return batch.rows(rows), counts

    def average(
        self, parameters: Iterable[torch.nn.Parameter], weight: int, nats: torch.Tensor, tokens: int
    ) -> tuple[float, int]:
        # By hand, not by DistributedDataParallel: it changes the layout of the gradients after its
        # first step, and the order of summation over three or more processes depends on the layout.
        # A resumed run would differ in the last bits. Little is lost: gradients through time are
        # ready only at the end of the backward pass, so there is nothing to send before.
        self._training = True
        learned = list(parameters)
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad.to_dense() for p in learned]
        counts = float(weight > 0)
        known = [float(p.grad is not None) for p in learned]
        numbers = torch.tensor([weight, counts * tokens, *known], device=nats.device)
        parts = [*(g.flatten() * weight for g in gradients), nats.reshape(1) * counts, numbers]
        flat = torch.cat(parts)
        with _noticing_loss():
            distributed.all_reduce(flat)  # always with the same layout
        *sums, rest = torch.split(flat, [*(p.numel() for p in learned), len(numbers) + 1])
        all_nats, all_weights, all_tokens, *known = rest.tolist()
        for parameter, summed, somewhere in zip(learned, sums, known, strict=True):
            parameter.grad = (
                (summed / max(all_weights, 1)).view_as(parameter) if somewhere else None
            )
        return all_nats, round(all_tokens)

    def first(self, value: float) -> float:
        said = torch.tensor([value], dtype=torch.float64)
        self.copy_first([said])
        return said.item()

    def first_text(self, text: str) -> str:
        encoded = text.encode()
        length = int(self.first(len(encoded)))
        said = torch.zeros(length, dtype=torch.uint8)
        if self.rank == 0:
            said = torch.frombuffer(bytearray(encoded), dtype=torch.uint8)
        self.copy_first([said])
        return said.numpy().tobytes().decode()

    def largest(self, *values: int) -> list[int]:
        said = torch.tensor(values)
        with _noticing_loss():
            distributed.all_reduce(said, distributed.ReduceOp.MAX)
        return said.tolist()

    def gather(self, memory: Tensors) -> Tensors:
        gathered = dict(memory)
        for name in sorted(name for name in memory if name.startswith(_OWN)):
            mine = memory[name].cpu().contiguous()
            # As bytes: a backend may not support every dtype.
            sent = mine.flatten().view(torch.uint8)
            parts = [torch.empty_like(sent) for _ in range(self.count)] if self.rank == 0 else None
            if len(sent):  # gloo cannot send empty tensors
                with _noticing_loss():
                    distributed.gather(sent, parts, dst=0)
            for rank, part in list(enumerate(parts or []))[1:]:
                gathered[f"process/{rank}/{name}"] = part.view(mine.dtype).view(mine.shape)
        return gathered

    def own(self, memory: Tensors) -> Tensors:
        mine = f"process/{self.rank}/"
        shared = {key: value for key, value in memory.items() if not key.startswith("process/")}
        own = {key.removeprefix(mine): memory[key] for key in memory if key.startswith(mine)}
        return shared | own

    def resume_command(self, run: Path) -> str:
        return resume_command(self.count, self._on_machine, run)

    def heed(self, number: int, frame: object) -> None:
        """Handle a signal outside of the loop, which has its own handler.

        Before the training it ends this process at once. After it, the process is already ending;
        torchrun, which ends all processes when one has died, must not end it before its message.
        """
        if not self._training:
            raise SystemExit(128 + number)

    def speaks(self) -> bool:
        """Whether no process has reported yet why the training ends."""
        try:
            return self._store.add("elman/said", 1) == 1
        except RuntimeError:  # the store is gone
            return True

    def leave(self) -> None:
        """Leave the process group cleanly."""
        distributed.destroy_process_group()


@contextmanager
def _noticing_loss() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise WorkerLost(f"a worker was lost ({_reason(error)})") from None


def _reason(error: RuntimeError) -> str:
    """The reason, without torch's source location and advice."""
    return re.sub(r"^\[[^]]*\] *", "", str(error).splitlines()[0]).split(". ")[0]
