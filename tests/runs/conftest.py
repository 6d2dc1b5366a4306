"""Shared by tests of run folders: contents, a run with them, and checks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elman.runs.folder import read_run, write_run

Parts = dict[str, Any]


@pytest.fixture
def contents() -> Parts:
    return {
        "config.json": {"name": "é\u2028", "order": 3, "rates": [0.1, 1e-300], "none": None},
        "notes.txt": "two lines\nwith \u2028 and no newline at the end",
        "weights.safetensors": {
            "whole": np.arange(6, dtype=np.int32).reshape(2, 3),
            "turned": np.arange(6, dtype=np.float64).reshape(2, 3).T,  # not contiguous
            "single": np.array(2.5, dtype=np.float32),
            "empty": np.zeros((0, 4), dtype=np.int64),
        },
    }


@pytest.fixture
def new_parts() -> Parts:
    return {
        "config.json": {"name": "new", "order": 4},
        "weights.safetensors": {"whole": np.ones(3), "further": np.zeros((2, 2), dtype=np.int64)},
        "further.json": {"added": True},
    }


@pytest.fixture
def updated(contents: Parts, new_parts: Parts) -> Parts:
    return contents | new_parts


@pytest.fixture
def run(tmp_path: Path, contents: Parts) -> Path:
    path = tmp_path / "runs" / "one"  # the folder above is made too
    write_run(path, contents)
    return path


@pytest.fixture
def assert_holds() -> Callable[[Path, Parts], None]:
    """Whether a folder holds these contents and nothing else."""
    return _assert_holds


def _assert_holds(path: Path, contents: Parts) -> None:
    found = read_run(path)
    assert found.keys() == contents.keys()
    for name, expected in contents.items():
        if name.endswith(".safetensors"):
            assert found[name].keys() == expected.keys()
            for key, array in expected.items():
                assert found[name][key].dtype == array.dtype
                assert found[name][key].shape == array.shape
                np.testing.assert_array_equal(found[name][key], array)
        else:
            assert found[name] == expected


@pytest.fixture
def small_disk(disk_of: Callable[[str], Path]) -> Path:
    return disk_of("1m")
