"""Untrusted run folders: only regular files are read, up to a limit."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elman.errors import InputError
from elman.runs import manifest
from elman.runs.claim import MANIFEST
from elman.runs.folder import read_run, write_run
from elman.runs.parts import parse_json
from elman.training.history import read_history


@pytest.fixture(autouse=True)
def _no_hang() -> Iterator[None]:
    """A read that would wait forever fails the test instead."""
    signal.signal(signal.SIGALRM, lambda number, frame: pytest.fail("it hangs", pytrace=False))
    signal.alarm(30)
    yield
    signal.alarm(0)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    contents = {"config.json": {"a": 1}, "weights.safetensors": {"w": np.zeros(2)}}
    write_run(tmp_path / "run", contents)
    return tmp_path / "run"


def reseal(run: Path, name: str) -> None:
    """Put the right size and hash of a file into the manifest, sealed as elman does it."""
    data = json.loads((run / MANIFEST).read_text())
    del data["sha256"]
    content = (run / name).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    data["files"][name] = {"bytes": len(content), "sha256": digest}
    (run / MANIFEST).write_text(manifest._sealed(data))


@pytest.mark.parametrize("name", ["config.json", "weights.safetensors"])
@pytest.mark.parametrize("what", ["fifo", "device"])
def test_what_is_no_regular_file_is_not_read(small: Path, name: str, what: str) -> None:
    (small / name).unlink()
    if what == "fifo":
        os.mkfifo(small / name)
    else:
        (small / name).symlink_to("/dev/zero")
    with pytest.raises(InputError, match=f"{name}: is not a regular file"):
        read_run(small)


@pytest.mark.parametrize("name", [MANIFEST, "history.jsonl"])
def test_nor_is_a_pipe_in_the_place_of_manifest_or_history(small: Path, name: str) -> None:
    (small / name).unlink(missing_ok=True)
    os.mkfifo(small / name)
    with pytest.raises(InputError, match="run"):
        read_history(small) if name == "history.jsonl" else read_run(small)


def test_json_is_bounded_in_depth(small: Path) -> None:
    for depth in (60, 900, 100_000):
        (small / "config.json").write_text("[" * depth + "]" * depth)
        reseal(small, "config.json")
        with pytest.raises(InputError, match="config.json: cannot be parsed .nested too deep"):
            read_run(small)
    assert parse_json("[" * 40 + "]" * 40)


def test_json_is_bounded_in_size_and_the_bound_can_be_raised(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (small / "config.json").write_text(json.dumps(["x" * 1000] * 5000))
    reseal(small, "config.json")
    with pytest.raises(InputError, match=r"more than 4 MB; if you trust .*ELMAN_MAX_JSON_MB"):
        read_run(small)
    monkeypatch.setenv("ELMAN_MAX_JSON_MB", "64")
    assert len(read_run(small)["config.json"]) == 5000
    monkeypatch.setenv("ELMAN_MAX_JSON_MB", "much")
    with pytest.raises(InputError, match="ELMAN_MAX_JSON_MB='much': must be a number"):
        read_run(small)


def test_a_terabyte_that_takes_no_room_is_not_read(small: Path) -> None:
    for name in ("config.json", MANIFEST, "weights.safetensors"):
        os.truncate(small / name, 2**40)
        with pytest.raises(InputError, match="run"):
            read_run(small)


@pytest.mark.parametrize(
    "header",
    [
        {"w": {"dtype": "BF16", "shape": [8], "data_offsets": [0, 16]}},
        {"w": {"dtype": "F8_E4M3", "shape": [16], "data_offsets": [0, 16]}},
        {"w": {"dtype": "F64", "shape": [2**62], "data_offsets": [0, 16]}},
        {"w": {"dtype": "F64", "shape": [-2], "data_offsets": [0, 16]}},
        {"w": None},
        [],
    ],
    ids=str,
)
def test_arrays_that_numpy_cannot_have(small: Path, header: Any) -> None:
    text = json.dumps(header).encode()
    content = len(text).to_bytes(8, "little") + text + bytes(16)
    (small / "weights.safetensors").write_bytes(content)
    reseal(small, "weights.safetensors")
    with pytest.raises(InputError, match=r"weights.safetensors: cannot be parsed"):
        read_run(small)


def test_a_long_header_is_not_parsed(small: Path) -> None:
    (small / "weights.safetensors").write_bytes((2**40).to_bytes(8, "little") + b"{" * 100)
    reseal(small, "weights.safetensors")
    with pytest.raises(InputError, match="the header claims 1,099,511,627,776 bytes"):
        read_run(small)


@pytest.mark.parametrize("line", ["[]", "3", "null", '"x"', "{}", '{"step": {}, "epoch": 1}'])
def test_a_history_ends_before_what_is_no_record(small: Path, line: str) -> None:
    good = '{"step": 1, "epoch": 0.5, "train_perplexity": 3.0}'
    (small / "history.jsonl").write_text(f"{good}\n{line}\n{good}\n")
    assert len(read_history(small)) == 1
