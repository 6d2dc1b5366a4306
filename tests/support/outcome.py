"""The content of a run folder, in a form that can be compared bit by bit."""

from pathlib import Path
from typing import Any

from tiny import history

from elman.runs.folder import read_run


def outcome(out: Path) -> dict[str, Any]:
    """Everything that training left: arrays as bytes, no speeds."""
    contents = read_run(out)
    found: dict[str, Any] = {}
    for name in ("weights.safetensors", "last.safetensors", "memory.safetensors"):
        for key, array in contents[name].items():
            found[f"{name}: {key}"] = (str(array.dtype), array.shape, array.tobytes())
    return found | contents["training.json"]["trainer"] | {"history": history(out)}


def differences(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """The names of what is not the same in both."""
    names = sorted(first.keys() | second.keys())
    return [name for name in names if name not in first or first[name] != second.get(name)]
