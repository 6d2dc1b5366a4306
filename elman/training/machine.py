"""Where and how a training runs: device, threads, processes, and who is told about it.

Made by the commands, asked by `gradient_task.py`. Of no consequence for what a
training is, so it is no part of a recipe.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elman.errors import DataWarning, InputError
from elman.training.history import Record
from elman.training.processes import Processes

if TYPE_CHECKING:  # count models are trained without torch
    import torch

    from elman.training.loop import TrainingProgress


def _warn(message: str) -> None:
    warnings.warn(message, DataWarning, stacklevel=5)


@dataclass(frozen=True)
class Machine:
    """One process on the processor, unless said otherwise."""

    device: str = "cpu"
    threads: int | None = None  # None: as many as torch takes
    tensorboard: bool = False  # log to a folder `tensorboard` in the run folder
    watch: Callable[[TrainingProgress], None] = lambda progress: None
    record: Callable[[Record], None] = lambda record: None  # what the history is told too
    note: Callable[[str], None] = lambda message: None  # on the data, before training begins
    warn: Callable[[str], None] = _warn  # the same, where something is probably wrong
    processes: Processes = field(default_factory=Processes)  # that train together

    def prepare(self) -> torch.device:
        """Set the threads, and give the device; an InputError if it cannot be used."""
        import torch

        if self.tensorboard:
            _summary_writer()  # before the work, not after it
        if self.threads is not None:
            if self.threads < 1:
                raise InputError(f"--threads {self.threads}: must be at least 1")
            torch.set_num_threads(self.threads)
        try:
            device = torch.device(self.device)
            torch.zeros(1, device=device).item()
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0]
            raise InputError(f"--device {self.device}: cannot be used here ({reason})") from None
        return device

    def open_tensorboard(self, run: Path) -> Any:
        """A writer to the run folder, if one is wanted; else None."""
        return _summary_writer()(str(run / "tensorboard")) if self.tensorboard else None


def _summary_writer() -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise InputError("TensorBoard is not installed: pip install tensorboard") from None
    return SummaryWriter
