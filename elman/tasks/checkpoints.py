"""Snapshots of a training ⇄ the files of a run folder.

A run folder in training holds, beside what every run has (`weights.safetensors` are the best so
far), what is needed to go on bit for bit:

    last.safetensors      the weights as training left them
    memory.safetensors    optimizer, averages; carried state, random generators of every process
    training.json         positions, schedule, best so far, how much of the history is of then

and, written by `training_run.py`, `history.jsonl`, one record per line, and `curves.png`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from elman.training.processes import Processes
from elman.training.snapshot import Snapshot, Tensors


def checkpoint(snapshot: Snapshot, processes: Processes, records: int) -> dict[str, Any]:
    """What changes with every checkpoint, of which so many records of the history are."""
    best = snapshot.data["best_nats"]
    return {
        "last.safetensors": arrays(snapshot.weights),
        "memory.safetensors": arrays(snapshot.memory),
        "training.json": {
            "threads": torch.get_num_threads(),
            "processes": processes.count,
            "history": records,
            # JSON has no number for what is infinite.
            "trainer": {**snapshot.data, "best_nats": best if math.isfinite(best) else None},
        },
    }


def read_checkpoint(contents: Mapping[str, Any], processes: Processes) -> Snapshot:
    """The snapshot that a run folder holds, with what this process remembers."""
    data = contents["training.json"]["trainer"]
    best = data["best_nats"]
    return Snapshot(
        weights=_tensors(contents["last.safetensors"]),
        best=_tensors(contents["weights.safetensors"]),
        memory=processes.own(_tensors(contents["memory.safetensors"])),
        data={**data, "best_nats": math.inf if best is None else best},
    )


def arrays(tensors: Tensors) -> dict[str, np.ndarray]:
    """Tensors as a run folder takes them."""
    return {name: tensor.numpy(force=True) for name, tensor in tensors.items()}


def _tensors(found: Mapping[str, np.ndarray]) -> Tensors:
    # Copies, so that they lie in memory as torch would put them.
    return {name: torch.from_numpy(array).clone() for name, array in found.items()}
