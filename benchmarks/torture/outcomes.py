"""The content of a run folder, in a form that can be compared bit by bit."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from elman.runs.folder import read_run

_CLOCKS = ("tokens_per_second",)


def outcome(run: Path) -> dict[str, Any]:
    """Hashes of all arrays, counters and history; nothing that depends on time."""
    contents = read_run(run)
    found: dict[str, Any] = {"config": json.dumps(contents["config.json"], sort_keys=True)}
    for name, content in contents.items():
        if name.endswith(".safetensors"):
            for key, array in content.items():
                found[f"{name} {key}"] = (str(array.dtype), array.shape, _digest(array))
    if "training.json" in contents:
        found |= contents["training.json"]["trainer"]
    history = run / "history.jsonl"
    if history.exists():
        records = [json.loads(line) for line in history.read_text().splitlines()]
        found["history"] = [
            {name: value for name, value in record.items() if name not in _CLOCKS}
            for record in records
        ]
    return found


def differences(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """The names of the entries that differ."""
    names = sorted(first.keys() | second.keys())
    return [name for name in names if name not in first or first[name] != second.get(name)]


def all_finite(run: Path) -> bool:
    """Whether all weights of a run are finite."""
    contents = read_run(run)
    return all(
        np.isfinite(array).all()
        for name, content in contents.items()
        if name.endswith(".safetensors")
        for array in content.values()
        if array.dtype.kind == "f"
    )


def _digest(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
