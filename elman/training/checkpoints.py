"""Convert snapshots of a training to the files of a run folder, and back.

Besides the files of every run (`weights.safetensors` are the best so far), a run folder in training
holds everything needed to continue bit for bit:

    last.safetensors      the weights after the last step
    memory.safetensors    optimizer, averages; carried state, random generators of every process
    training.json         positions, schedule, best so far, number of history records

and, written by `training_run.py`, `history.jsonl`, one record per line, and `curves.png`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from elman.data_checks import section, whole
from elman.errors import UNFIT, InputError, is_memory_error
from elman.training.processes import Processes
from elman.training.snapshot import Snapshot, Tensors
from elman.training.trainer import Trainer

_MOST_THREADS = 1024


def checkpoint(snapshot: Snapshot, processes: Processes, records: int) -> dict[str, Any]:
    """The files that change with every checkpoint, which covers so many history records."""
    best = snapshot.data["best_nats"]
    return {
        "last.safetensors": arrays(snapshot.weights),
        "memory.safetensors": arrays(snapshot.memory),
        "training.json": {
            "threads": torch.get_num_threads(),
            "processes": processes.count,
            "history": records,
            # JSON has no infinity.
            "trainer": {**snapshot.data, "best_nats": best if math.isfinite(best) else None},
        },
    }


def read_checkpoint(contents: Mapping[str, Any], processes: Processes) -> Snapshot:
    """The snapshot in a run folder, with the memory of this process."""
    data = contents["training.json"]["trainer"]
    best = data["best_nats"]
    return Snapshot(
        weights=_tensors(contents["last.safetensors"]),
        best=_tensors(contents["weights.safetensors"]),
        memory=processes.own(_tensors(contents["memory.safetensors"])),
        data={**data, "best_nats": math.inf if best is None else best},
    )


def read_state(path: Path, contents: Mapping[str, Any]) -> dict[str, int]:
    """Facts about a training when its checkpoint was saved: threads, processes, records."""
    try:
        state = section(contents["training.json"], "training.json")
        processes = whole(state.get("processes", 1), "processes", at_least=1)
        return {
            "threads": min(whole(state["threads"], "threads", at_least=1), _MOST_THREADS),
            "processes": processes,
            "history": whole(state["history"], "history"),
        }
    except (KeyError, ValueError) as error:
        raise _does_not_fit(path, error) from None


def restore(path: Path, trainer: Trainer, contents: Mapping[str, Any]) -> None:
    """Restore a trainer from the checkpoint in the contents of a run folder."""
    try:
        snapshot = read_checkpoint(contents, trainer.processes)
        trainer.check(snapshot)
        trainer.restore(snapshot)
    except UNFIT as error:
        raise _does_not_fit(path, error) from None


@contextmanager
def first_step_checked(path: Path, trainer: Trainer) -> Iterator[None]:
    """Context of a resumed training: errors before the first step are blamed on the checkpoint."""
    begun = trainer.counters.step
    try:
        yield
    except UNFIT as error:
        if trainer.counters.step != begun or is_memory_error(error):
            raise
        raise _does_not_fit(path, error) from None


def _does_not_fit(path: Path, error: Exception) -> InputError:
    what = f"lacks {error}" if isinstance(error, KeyError) else str(error)
    return InputError(f"{path}: the checkpoint does not match the run ({what}); train again")


def arrays(tensors: Tensors) -> dict[str, np.ndarray]:
    """Tensors as arrays for a run folder."""
    return {name: tensor.numpy(force=True) for name, tensor in tensors.items()}


def _tensors(found: Mapping[str, np.ndarray]) -> Tensors:
    # Copies, so that their memory layout is that of torch.
    return {name: torch.from_numpy(array).clone() for name, array in found.items()}
