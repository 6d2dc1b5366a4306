"""Reading a run folder: every damage is detected, and other folders are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from elman.errors import InputError
from elman.runs import manifest
from elman.runs.claim import MANIFEST
from elman.runs.folder import read_run, update_run
from elman.runs.manifest import fingerprint

Parts = dict[str, Any]
Holds = Callable[[Path, Parts], None]
FILES = ["config.json", "notes.txt", "weights.safetensors", MANIFEST]


@pytest.mark.parametrize("name", FILES)
def test_every_changed_byte_is_seen(
    run: Path, name: str, contents: Parts, assert_holds: Holds
) -> None:
    path = run / name
    whole = path.read_bytes()
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="one"):
            read_run(run)
    path.write_bytes(whole)
    assert_holds(run, contents)


@pytest.mark.parametrize("name", FILES)
def test_a_file_cut_short_or_longer_is_seen(run: Path, name: str) -> None:
    path = run / name
    whole = path.read_bytes()
    for changed in (b"", whole[:-1], whole + b"\n"):
        path.write_bytes(changed)
        with pytest.raises(InputError, match="one"):
            read_run(run)


def test_damage_is_named_with_what_was_expected_and_found(run: Path) -> None:
    (run / "notes.txt").write_bytes(b"other")
    with pytest.raises(
        InputError, match=r"notes\.txt: damaged: expected 44 bytes .*found 5 .*restore"
    ):
        read_run(run)


def test_a_missing_file_is_named(run: Path) -> None:
    (run / "weights.safetensors").unlink()
    with pytest.raises(InputError, match=r"weights\.safetensors: .*the run is incomplete"):
        read_run(run)


@pytest.mark.parametrize("name", ["missing", "x" * 300])
def test_a_run_that_is_not_there(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=f"{name}: no such run; train one with: elman train"):
        read_run(tmp_path / name)


@pytest.mark.parametrize("text", [None, "", "[]", "3", "{}", '{"format": "other"}', "\0", '{"a"'])
def test_a_foreign_folder_is_no_run(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(InputError, match="not an elman run folder"):
        read_run(tmp_path)


def test_a_file_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="file: not an elman run folder"):
        read_run(tmp_path / "file")


def change_manifest(run: Path, **changes: Any) -> None:
    """A manifest with other entries, sealed as if elman had written it."""
    changed = json.loads((run / MANIFEST).read_text()) | changes
    del changed["sha256"]
    (run / MANIFEST).write_text(manifest._sealed(changed))


@pytest.mark.parametrize("version", [2, 0, "1", None])
def test_another_version_is_refused(run: Path, version: Any) -> None:
    change_manifest(run, version=version)
    with pytest.raises(InputError, match=f"run format {version}, but this version .* reads 1"):
        read_run(run)


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/b", ".", "a\0b"])
def test_a_manifest_cannot_name_files_elsewhere(run: Path, name: str) -> None:
    (run.parent / "x").write_text("secret")
    change_manifest(run, files={name: fingerprint(run.parent / "x")})
    with pytest.raises(InputError, match="names a file outside the folder"):
        read_run(run)


@pytest.mark.parametrize("files", [3, [], None, {"notes.txt": 3}, {"notes.txt": {}}, {"..": {}}])
def test_a_manifest_of_another_shape_is_refused(run: Path, files: Any) -> None:
    change_manifest(run, files=files)
    with pytest.raises(InputError, match="one"):
        read_run(run)


@pytest.mark.parametrize("name", ["bad.json", "bad.safetensors", "bad.txt"])
def test_a_file_that_is_whole_but_means_nothing(run: Path, name: str) -> None:
    (run / name).write_bytes(b"\xff{")
    change_manifest(run, files={name: fingerprint(run / name)})
    with pytest.raises(InputError, match=f"{name}: cannot be parsed"):
        read_run(run)


def test_every_changed_byte_of_an_updated_run_is_seen(
    run: Path, new_parts: Parts, updated: Parts, assert_holds: Holds
) -> None:
    update_run(run, new_parts)
    for name in ("config.1.json", "weights.1.safetensors", MANIFEST):
        whole = (run / name).read_bytes()
        for place in range(0, len(whole), 3):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << place % 8
            (run / name).write_bytes(damaged)
            with pytest.raises(InputError, match="one"):
                read_run(run)
        (run / name).write_bytes(whole)
    assert_holds(run, updated)


@pytest.mark.parametrize("stored", ["../x", "/etc/passwd", "a/b", ".", "a\0b"])
def test_an_updated_manifest_cannot_name_files_elsewhere(run: Path, stored: str) -> None:
    (run.parent / "x").write_text("secret")
    entry = fingerprint(run.parent / "x") | {"stored": stored}
    change_manifest(run, files={"notes.txt": entry})
    with pytest.raises(InputError, match="names a file outside the folder"):
        read_run(run)
