"""A new run folder: written atomically; replaces only a run, and only if asked."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from elman.errors import ElmanError, InputError
from elman.runs import claim
from elman.runs.folder import write_run
from elman.runs.parts import write_part

Parts = dict[str, Any]
Holds = Callable[[Path, Parts], None]


def test_what_was_written_is_read(run: Path, contents: Parts, assert_holds: Holds) -> None:
    assert_holds(run, contents)
    assert [path.name for path in run.parent.iterdir()] == ["one"]


def test_a_run_is_overwritten_only_when_asked(
    run: Path, contents: Parts, assert_holds: Holds
) -> None:
    with pytest.raises(InputError, match="one: exists already; .*--overwrite"):
        write_run(run, {"new.json": {}})
    assert_holds(run, contents)
    write_run(run, {"new.json": {}}, overwrite=True)
    assert_holds(run, {"new.json": {}})
    assert [path.name for path in run.parent.iterdir()] == ["one"]


def test_arrays_are_written_as_the_library_writes_them(tmp_path: Path) -> None:
    kinds = "u8 i8 f8 f4 u4 i4 f2 u2 i2 i1 u1 ?".split()
    arrays = {f"{kind} é": np.arange(6).reshape(2, 3).astype(kind) for kind in kinds}
    arrays |= {f'"{kind}"': np.ones((3, 2), kind).T for kind in kinds}  # in another order in memory
    arrays |= {"nothing": np.zeros((0, 4)), "one number": np.array(1.5)}
    write_part(tmp_path / "a.safetensors", arrays)
    expected = save({name: np.asarray(array, order="C") for name, array in arrays.items()})
    assert (tmp_path / "a.safetensors").read_bytes() == expected


def test_an_empty_folder_is_free(tmp_path: Path, contents: Parts, assert_holds: Holds) -> None:
    (tmp_path / "run").mkdir()
    write_run(tmp_path / "run", contents)
    assert_holds(tmp_path / "run", contents)


def test_what_is_no_run_is_never_overwritten(tmp_path: Path, contents: Parts) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.tex").write_text("x")
    (tmp_path / "file").write_text("x")
    for name in ("precious", "file"):
        with pytest.raises(InputError, match=f"{name}: is not an elman run"):
            write_run(tmp_path / name, contents, overwrite=True)
    assert (tmp_path / "precious" / "thesis.tex").read_text() == "x"
    assert (tmp_path / "file").read_text() == "x"


@pytest.mark.parametrize("name", ["", ".", "..", "/"])
def test_a_run_needs_a_name_of_its_own(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, contents: Parts
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="name a separate folder"):
        write_run(Path(name), contents)


@pytest.mark.parametrize("name", ["file/run", "x" * 300])
def test_a_place_that_cannot_be_written(tmp_path: Path, name: str, contents: Parts) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match=rf"{name}: cannot be written \(.*choose another --out"):
        write_run(tmp_path / name, contents)


def test_what_a_killed_process_left_behind_is_no_obstacle(run: Path, assert_holds: Holds) -> None:
    for ending in ("partial", "old"):
        leftover = run.with_name(f".{run.name}.{os.getpid()}.{ending}")
        leftover.mkdir()
        (leftover / "half").write_text("x")
    write_run(run, {"new.json": {}}, overwrite=True)
    assert_holds(run, {"new.json": {}})
    assert [path.name for path in run.parent.iterdir()] == ["one"]


@pytest.mark.parametrize("failing", range(8))
def test_when_flushing_fails_the_old_run_is_whole_and_nothing_is_left(
    run: Path,
    monkeypatch: pytest.MonkeyPatch,
    failing: int,
    contents: Parts,
    assert_holds: Holds,
) -> None:
    calls = 0
    flush = os.fsync

    def fail_once(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls == failing + 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", fail_once)
    new = {"config.json": {"new": True}, "weights.safetensors": {"w": np.zeros(500_000)}}
    if failing < 4:  # two files, the manifest, the folder
        with pytest.raises(ElmanError, match=r"disk is full; about 4\.0 MB are needed") as caught:
            write_run(run, new, overwrite=True)
        assert caught.value.exit_code == 1
        assert_holds(run, contents)
    elif failing == 4:  # the folder above: the new run is in place already
        with pytest.raises(ElmanError):
            write_run(run, new, overwrite=True)
        assert_holds(run, new)
    else:
        write_run(run, new, overwrite=True)
        assert_holds(run, new)
    assert [path.name for path in run.parent.iterdir()] == ["one"]


def test_when_renaming_fails_the_old_run_comes_back(
    run: Path, monkeypatch: pytest.MonkeyPatch, contents: Parts, assert_holds: Holds
) -> None:
    monkeypatch.setattr(claim, "exchange", lambda first, second: False)  # it takes two renames
    rename = Path.rename

    def fail(self: Path, target: Path) -> Path:
        if self.name.endswith(".partial"):
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(InputError, match=r"cannot be written \(Input/output error\)"):
        write_run(run, {"new.json": {}}, overwrite=True)
    assert_holds(run, contents)
    assert [path.name for path in run.parent.iterdir()] == ["one"]


def test_any_other_failure_leaves_nothing_behind(
    run: Path, contents: Parts, assert_holds: Holds
) -> None:
    with pytest.raises(TypeError):
        write_run(run, {"a.json": {}, "b.json": {"not": object()}}, overwrite=True)
    assert_holds(run, contents)
    assert [path.name for path in run.parent.iterdir()] == ["one"]


def test_a_disk_that_is_really_full(small_disk: Path, contents: Parts, assert_holds: Holds) -> None:
    run = small_disk / "run"
    write_run(run, contents)
    with pytest.raises(ElmanError, match=r"disk is full; about 8\.0 MB") as caught:
        write_run(run, {"w.safetensors": {"w": np.zeros(1_000_000)}}, overwrite=True)
    assert caught.value.exit_code == 1
    assert_holds(run, contents)
    assert [path.name for path in small_disk.iterdir()] == ["run"]
    write_run(run, {"a.json": {}}, overwrite=True)  # the space is free again
    assert_holds(run, {"a.json": {}})
