"""Where and how a training runs: device, threads, processes and callbacks.

Created by the commands, used by `gradient_task.py`. It does not define the model, so it is not part
of a recipe.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elman.allocator import keep_memory
from elman.counts.resources import Resources
from elman.errors import DataWarning, InputError
from elman.extras import import_extra
from elman.training.history import Record
from elman.training.processes import Processes
from elman.training.progress import TrainingProgress, watch_in_notebook

if TYPE_CHECKING:  # count models are trained without torch
    import torch


def _warn(message: str) -> None:
    warnings.warn(message, DataWarning, stacklevel=5)


@dataclass(frozen=True)
class Machine:
    """By default, one process on the CPU."""

    device: str = "cpu"
    threads: int | None = None  # None: the default of torch
    tensorboard: bool = False  # log to a folder `tensorboard` in the run folder
    watch: Callable[[TrainingProgress], None] = field(default_factory=watch_in_notebook)
    record: Callable[[Record], None] = lambda record: None  # gets every record of the history
    note: Callable[[str], None] = lambda message: None  # gets notes on the data, before training
    warn: Callable[[str], None] = _warn  # gets warnings about the data
    processes: Processes = field(default_factory=Processes)  # the processes that train together
    counting: Resources = field(default_factory=Resources)  # engine and memory of count models

    def prepare(self) -> torch.device:
        """Set threads and allocator, and return the device. An InputError: it cannot be used."""
        import torch

        if self.tensorboard:
            _tensorboard()  # fails now if TensorBoard is missing, not after the work
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
        keep_memory()
        return device

    def open_tensorboard(self, run: Path) -> Any:
        """A TensorBoard writer for the run folder, if requested; else None."""
        return _tensorboard().SummaryWriter(str(run / "tensorboard")) if self.tensorboard else None


def _tensorboard() -> Any:
    return import_extra("torch.utils.tensorboard", "TensorBoard is not installed")
