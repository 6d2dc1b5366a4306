"""Updates that fail or are killed: the folder has all old parts or all new ones."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elman.errors import ElmanError
from elman.runs import parts
from elman.runs.claim import MANIFEST
from elman.runs.folder import read_run, update_run, write_run

Parts = dict[str, Any]
Holds = Callable[[Path, Parts], None]


class Death(BaseException):
    """Simulates a killed process: no cleanup runs."""


# Every way in which an update touches the disk; a write may be cut short by the end.
TOUCHES: list[tuple[Any, str]] = [
    (parts, "_write_arrays"),
    (Path, "write_text"),
    (Path, "replace"),
    (Path, "unlink"),
    (os, "fsync"),
]


def trouble_at(
    monkeypatch: pytest.MonkeyPatch, number: int, trouble: Callable[[], BaseException]
) -> list[str]:
    """Replace disk access number n by a failure; gives the accesses before it."""
    touched: list[str] = []

    def spoil(owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def touch(subject: Any, *arguments: Any, **options: Any) -> Any:
            touched.append(name)
            if trouble is Death and 0 < number < len(touched):
                raise Death  # nothing can be touched any more
            if len(touched) == number:
                if name == "_write_arrays":
                    original(subject, *arguments)
                    os.truncate(subject, subject.stat().st_size // 2)
                elif name.startswith("write_"):
                    half = arguments[0][: len(arguments[0]) // 2]
                    original(subject, half, *arguments[1:], **options)
                raise trouble()
            return original(subject, *arguments, **options)

        monkeypatch.setattr(owner, name, touch)

    for owner, name in TOUCHES:
        spoil(owner, name)
    return touched


@pytest.fixture
def touches(tmp_path: Path, contents: Parts, new_parts: Parts) -> int:
    """The number of disk accesses of an update."""
    run = tmp_path / "counted"
    write_run(run, contents)
    with pytest.MonkeyPatch.context() as patch:
        touched = trouble_at(patch, -1, Death)
        update_run(run, new_parts)
    assert touched.count("replace") == 1
    assert touched.count("fsync") == len(new_parts) + 2  # the manifest and the folder
    assert touched.count("unlink") == 2
    assert touched.count("_write_arrays") >= 1
    return len(touched)


def test_dying_at_any_moment_leaves_the_old_parts_or_the_new(
    tmp_path: Path,
    touches: int,
    contents: Parts,
    new_parts: Parts,
    updated: Parts,
    assert_holds: Holds,
) -> None:
    seen = []
    for number in range(1, touches + 1):
        run = tmp_path / f"run{number}"
        write_run(run, contents)
        with pytest.MonkeyPatch.context() as patch:
            trouble_at(patch, number, Death)
            with pytest.raises(Death):
                update_run(run, new_parts)
        new = "added" in str(read_run(run).get("further.json"))
        seen.append(new)
        assert_holds(run, updated if new else contents)
        update_run(run, new_parts)  # the next update tidies up
        assert_holds(run, updated)
        stored = json.loads((run / MANIFEST).read_text())["files"]
        used = {entry.get("stored", name) for name, entry in stored.items()}
        assert {path.name for path in run.iterdir()} == {MANIFEST, *used}
    assert seen == sorted(seen)  # first always the old, from one moment on always the new
    assert seen[0] is False
    assert seen[-1] is True


def test_a_full_disk_at_any_moment_leaves_the_old_parts_or_the_new(
    tmp_path: Path,
    touches: int,
    contents: Parts,
    new_parts: Parts,
    updated: Parts,
    assert_holds: Holds,
) -> None:
    for number in range(1, touches + 1):
        run = tmp_path / f"run{number}"
        write_run(run, contents)
        names = {path.name for path in run.iterdir()}
        with pytest.MonkeyPatch.context() as patch:
            touched = trouble_at(patch, number, lambda: OSError(errno.ENOSPC, "No space left"))
            if number > touches - 2:  # only what is no longer needed could not be removed
                update_run(run, new_parts)
                assert touched[number - 1] == "unlink"
            else:
                with pytest.raises(ElmanError, match="disk is full; about 0.0 MB") as caught:
                    update_run(run, new_parts)
                assert caught.value.exit_code == 1
        if number > touches - 2:
            assert_holds(run, updated)
        elif number == touches - 2:  # the new parts are in place, but the folder was not flushed
            assert touched[number - 1] == "fsync"
            assert_holds(run, updated)
            assert names <= {path.name for path in run.iterdir()}  # and so are the old ones
        else:
            assert_holds(run, contents)
            assert {path.name for path in run.iterdir()} == names  # nothing is left behind
        update_run(run, new_parts)
        assert_holds(run, updated)


def test_how_much_room_is_needed(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trouble_at(monkeypatch, 1, lambda: OSError(errno.EDQUOT, "Disk quota exceeded"))
    with pytest.raises(
        ElmanError, match=r"disk is full; about 8\.0 MB are needed.*before is intact"
    ):
        update_run(run, {"w.safetensors": {"w": np.zeros(1_000_000)}})


def test_an_update_that_is_really_too_large(
    small_disk: Path,
    contents: Parts,
    new_parts: Parts,
    updated: Parts,
    assert_holds: Holds,
) -> None:
    run = small_disk / "run"
    write_run(run, contents)
    parts = {"a.json": {}, "w.safetensors": {"w": np.zeros(1_000_000)}}
    with pytest.raises(ElmanError, match=r"disk is full; about 8\.0 MB"):
        update_run(run, parts)
    assert_holds(run, contents)
    assert {path.name for path in run.iterdir()} == {MANIFEST, *contents}
    update_run(run, new_parts)  # the space is free again
    assert_holds(run, updated)


def test_any_other_failure_of_an_update_leaves_nothing_behind(
    run: Path, contents: Parts, assert_holds: Holds
) -> None:
    with pytest.raises(TypeError):
        update_run(run, {"config.json": {}, "further.json": {"not": object()}})
    assert_holds(run, contents)
    assert {path.name for path in run.iterdir()} == {MANIFEST, *contents}
