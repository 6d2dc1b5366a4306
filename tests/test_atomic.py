"""Replacing a file: the result is the complete new file or the unchanged old one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from elman.atomic import replacing


def test_the_new_file_takes_the_place_of_the_old(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("error", [OSError, ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_alone(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def fail() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_it_is_on_the_disk_before_it_takes_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    flushed = []
    flush = os.fsync

    def see(descriptor: int) -> None:
        flushed.append((os.fstat(descriptor).st_size, path.exists()))
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", see)
    with replacing(path) as temporary:
        temporary.write_text("new")
    assert flushed == [(3, False)]


@pytest.mark.parametrize("name", ["x" * 300, "missing/file"])
def test_a_place_that_cannot_be_is_an_error_of_the_system(tmp_path: Path, name: str) -> None:
    with pytest.raises(OSError, match="too long|No such"), replacing(tmp_path / name) as temporary:
        temporary.write_text("new")
