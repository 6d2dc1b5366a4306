"""Run folders: written whole or not at all, and every damage is seen."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elman.errors import ElmanError, InputError
from elman.runs import folder
from elman.runs.folder import MANIFEST, only_writer, read_run, update_run, write_run

CONTENTS: dict[str, Any] = {
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
def run(tmp_path: Path) -> Path:
    path = tmp_path / "runs" / "one"  # the folder above is made too
    write_run(path, CONTENTS)
    return path


def assert_holds(path: Path, contents: dict[str, Any]) -> None:
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


def test_what_was_written_is_read(run: Path) -> None:
    assert_holds(run, CONTENTS)
    assert [path.name for path in run.parent.iterdir()] == ["one"]


# Places that are taken --------------------------------------------------------------------------


def test_a_run_is_overwritten_only_when_asked(run: Path) -> None:
    with pytest.raises(InputError, match="one: exists already; .*--overwrite"):
        write_run(run, {"new.json": {}})
    assert_holds(run, CONTENTS)
    write_run(run, {"new.json": {}}, overwrite=True)
    assert_holds(run, {"new.json": {}})
    assert [path.name for path in run.parent.iterdir()] == ["one"]


def test_an_empty_folder_is_free(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    write_run(tmp_path / "run", CONTENTS)
    assert_holds(tmp_path / "run", CONTENTS)


def test_what_is_no_run_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.tex").write_text("x")
    (tmp_path / "file").write_text("x")
    for name in ("precious", "file"):
        with pytest.raises(InputError, match=f"{name}: is not a run of elman"):
            write_run(tmp_path / name, CONTENTS, overwrite=True)
    assert (tmp_path / "precious" / "thesis.tex").read_text() == "x"
    assert (tmp_path / "file").read_text() == "x"


@pytest.mark.parametrize("name", ["", ".", "..", "/"])
def test_a_run_needs_a_name_of_its_own(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="name a folder of its own"):
        write_run(Path(name), CONTENTS)


@pytest.mark.parametrize("name", ["file/run", "x" * 300])
def test_a_place_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match=rf"{name}: cannot be written \(.*choose another --out"):
        write_run(tmp_path / name, CONTENTS)


def test_what_a_killed_process_left_behind_is_no_obstacle(run: Path) -> None:
    for ending in ("partial", "old"):
        leftover = run.with_name(f".{run.name}.{os.getpid()}.{ending}")
        leftover.mkdir()
        (leftover / "half").write_text("x")
    write_run(run, {"new.json": {}}, overwrite=True)
    assert_holds(run, {"new.json": {}})
    assert [path.name for path in run.parent.iterdir()] == ["one"]


# Failing midway ---------------------------------------------------------------------------------


@pytest.mark.parametrize("failing", range(8))
def test_when_flushing_fails_the_old_run_is_whole_and_nothing_is_left(
    run: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    calls = 0
    flush = folder._flush

    def fail_once(path: Path) -> None:
        nonlocal calls
        calls += 1
        if calls == failing + 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        flush(path)

    monkeypatch.setattr(folder, "_flush", fail_once)
    new = {"config.json": {"new": True}, "weights.safetensors": {"w": np.zeros(500_000)}}
    if failing < 4:  # two files, the manifest, the folder
        with pytest.raises(ElmanError, match=r"disk is full; about 4\.0 MB are needed") as caught:
            write_run(run, new, overwrite=True)
        assert caught.value.exit_code == 1
        assert_holds(run, CONTENTS)
    elif failing == 4:  # the folder above: the new run is in place already
        with pytest.raises(ElmanError):
            write_run(run, new, overwrite=True)
        assert_holds(run, new)
    else:
        write_run(run, new, overwrite=True)
        assert_holds(run, new)
    assert [path.name for path in run.parent.iterdir()] == ["one"]


def test_when_renaming_fails_the_old_run_comes_back(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def fail(self: Path, target: Path) -> Path:
        if self.name.endswith(".partial"):
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(InputError, match=r"cannot be written \(Input/output error\)"):
        write_run(run, {"new.json": {}}, overwrite=True)
    assert_holds(run, CONTENTS)
    assert [path.name for path in run.parent.iterdir()] == ["one"]


def test_any_other_failure_leaves_nothing_behind(run: Path) -> None:
    with pytest.raises(TypeError):
        write_run(run, {"a.json": {}, "b.json": {"not": object()}}, overwrite=True)
    assert_holds(run, CONTENTS)
    assert [path.name for path in run.parent.iterdir()] == ["one"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Any:
    """A disk of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("needs the right to mount a small disk")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_is_really_full(small_disk: Path) -> None:
    run = small_disk / "run"
    write_run(run, CONTENTS)
    with pytest.raises(ElmanError, match=r"disk is full; about 8\.0 MB") as caught:
        write_run(run, {"w.safetensors": {"w": np.zeros(1_000_000)}}, overwrite=True)
    assert caught.value.exit_code == 1
    assert_holds(run, CONTENTS)
    assert [path.name for path in small_disk.iterdir()] == ["run"]
    write_run(run, {"a.json": {}}, overwrite=True)  # the space is free again
    assert_holds(run, {"a.json": {}})


# Damage -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*CONTENTS, MANIFEST])
def test_every_changed_byte_is_seen(run: Path, name: str) -> None:
    path = run / name
    whole = path.read_bytes()
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="one"):
            read_run(run)
    path.write_bytes(whole)
    assert_holds(run, CONTENTS)


@pytest.mark.parametrize("name", [*CONTENTS, MANIFEST])
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
    with pytest.raises(InputError, match="not a run folder of elman"):
        read_run(tmp_path)


def test_a_file_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="file: not a run folder of elman"):
        read_run(tmp_path / "file")


def change_manifest(run: Path, **changes: Any) -> None:
    """A manifest with other entries, sealed as if elman had written it."""
    manifest = json.loads((run / MANIFEST).read_text()) | changes
    del manifest["sha256"]
    (run / MANIFEST).write_text(folder._as_json(folder._seal(manifest)))


@pytest.mark.parametrize("version", [2, 0, "1", None])
def test_another_version_is_refused(run: Path, version: Any) -> None:
    change_manifest(run, version=version)
    with pytest.raises(InputError, match=f"run format {version}, but this elman reads 1"):
        read_run(run)


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/b", ".", "a\0b"])
def test_a_manifest_cannot_name_files_elsewhere(run: Path, name: str) -> None:
    (run.parent / "x").write_text("secret")
    change_manifest(run, files={name: folder._fingerprint(run.parent / "x")})
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
    change_manifest(run, files={name: folder._fingerprint(run / name)})
    with pytest.raises(InputError, match=f"{name}: cannot be understood"):
        read_run(run)


def test_a_process_killed_while_overwriting_leaves_the_old_run_and_a_hint(tmp_path: Path) -> None:
    write_run(tmp_path / "run", {"a.txt": "old"})
    (tmp_path / "run").rename(tmp_path / ".run.123.old")
    with pytest.raises(InputError, match=r"old run is whole: mv .*\.run\.123\.old"):
        read_run(tmp_path / "run")


# Updates in place -------------------------------------------------------------------------------

NEW: dict[str, Any] = {
    "config.json": {"name": "new", "order": 4},
    "weights.safetensors": {"whole": np.ones(3), "further": np.zeros((2, 2), dtype=np.int64)},
    "further.json": {"added": True},
}
UPDATED = CONTENTS | NEW


def test_an_update_replaces_adds_and_leaves_the_rest(run: Path) -> None:
    update_run(run, NEW)
    assert_holds(run, UPDATED)
    update_run(run, {"config.json": {"again": 1}})
    assert_holds(run, UPDATED | {"config.json": {"again": 1}})
    names = {path.name for path in run.iterdir()}
    assert names == {
        MANIFEST,
        "notes.txt",
        "config.2.json",
        "weights.1.safetensors",
        "further.1.json",
    }


def test_a_run_that_was_updated_is_overwritten_as_any_other(run: Path) -> None:
    update_run(run, NEW)
    write_run(run, CONTENTS, overwrite=True)
    assert_holds(run, CONTENTS)


def test_some_parts_are_read_without_the_others(run: Path) -> None:
    update_run(run, NEW)
    (run / "weights.1.safetensors").unlink()
    found = read_run(run, ["config.json", "notes.txt", "none.json"])
    assert found == {"config.json": NEW["config.json"], "notes.txt": CONTENTS["notes.txt"]}


def test_every_changed_byte_of_an_updated_run_is_seen(run: Path) -> None:
    update_run(run, NEW)
    for name in ("config.1.json", "weights.1.safetensors", MANIFEST):
        whole = (run / name).read_bytes()
        for place in range(0, len(whole), 3):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << place % 8
            (run / name).write_bytes(damaged)
            with pytest.raises(InputError, match="one"):
                read_run(run)
        (run / name).write_bytes(whole)
    assert_holds(run, UPDATED)


def test_what_is_not_of_the_run_is_left_alone(run: Path) -> None:
    others = ["weights.old.safetensors", "config.mine.json", "history.jsonl", "weights.1.txt"]
    for name in others:
        (run / name).write_text("x")
    update_run(run, NEW)
    update_run(run, NEW)
    assert all((run / name).read_text() == "x" for name in others)


@pytest.mark.parametrize("stored", ["../x", "/etc/passwd", "a/b", ".", "a\0b"])
def test_an_updated_manifest_cannot_name_files_elsewhere(run: Path, stored: str) -> None:
    (run.parent / "x").write_text("secret")
    entry = folder._fingerprint(run.parent / "x") | {"stored": stored}
    change_manifest(run, files={"notes.txt": entry})
    with pytest.raises(InputError, match="names a file outside the folder"):
        read_run(run)


class Death(BaseException):
    """The process is gone: nothing is tidied up."""


# Every way in which an update touches the disk; a write may be cut short by the end.
TOUCHES: list[tuple[Any, str]] = [
    (Path, "write_bytes"),
    (Path, "write_text"),
    (Path, "rename"),
    (Path, "unlink"),
    (os, "fsync"),
]


def trouble_at(
    monkeypatch: pytest.MonkeyPatch, number: int, trouble: Callable[[], BaseException]
) -> list[str]:
    """Let something happen instead of the touch of this number; what was touched till then."""
    touched: list[str] = []

    def spoil(owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def touch(subject: Any, *arguments: Any, **options: Any) -> Any:
            touched.append(name)
            if len(touched) == number:
                if name.startswith("write_"):
                    half = arguments[0][: len(arguments[0]) // 2]
                    original(subject, half, *arguments[1:], **options)
                raise trouble()
            return original(subject, *arguments, **options)

        monkeypatch.setattr(owner, name, touch)

    for owner, name in TOUCHES:
        spoil(owner, name)
    return touched


def count_touches(run: Path) -> int:
    with pytest.MonkeyPatch.context() as patch:
        touched = trouble_at(patch, -1, Death)
        update_run(run, NEW)
    assert touched.count("rename") == 1
    assert touched.count("fsync") == len(NEW) + 2  # the manifest and the folder
    assert touched.count("unlink") == 2
    return len(touched)


def test_dying_at_any_moment_leaves_the_old_parts_or_the_new(tmp_path: Path) -> None:
    write_run(tmp_path / "counted", CONTENTS)
    touches = count_touches(tmp_path / "counted")
    seen = []
    for number in range(1, touches + 1):
        run = tmp_path / f"run{number}"
        write_run(run, CONTENTS)
        with pytest.MonkeyPatch.context() as patch:
            trouble_at(patch, number, Death)
            with pytest.raises(Death):
                update_run(run, NEW)
        new = "added" in str(read_run(run).get("further.json"))
        seen.append(new)
        assert_holds(run, UPDATED if new else CONTENTS)
        update_run(run, NEW)  # the next update tidies up
        assert_holds(run, UPDATED)
        stored = json.loads((run / MANIFEST).read_text())["files"]
        used = {entry.get("stored", name) for name, entry in stored.items()}
        assert {path.name for path in run.iterdir()} == {MANIFEST, *used}
    assert seen == sorted(seen)  # first always the old, from one moment on always the new
    assert seen[0] is False
    assert seen[-1] is True


def test_a_full_disk_at_any_moment_leaves_the_old_parts_or_the_new(tmp_path: Path) -> None:
    write_run(tmp_path / "counted", CONTENTS)
    touches = count_touches(tmp_path / "counted")
    for number in range(1, touches + 1):
        run = tmp_path / f"run{number}"
        write_run(run, CONTENTS)
        names = {path.name for path in run.iterdir()}
        with pytest.MonkeyPatch.context() as patch:
            touched = trouble_at(patch, number, lambda: OSError(errno.ENOSPC, "No space left"))
            if number > touches - 2:  # only what is no longer needed could not be removed
                update_run(run, NEW)
                assert touched[number - 1] == "unlink"
            else:
                with pytest.raises(ElmanError, match="disk is full; about 0.0 MB") as caught:
                    update_run(run, NEW)
                assert caught.value.exit_code == 1
        if number > touches - 2:
            assert_holds(run, UPDATED)
        elif number == touches - 2:  # the new parts are in place, but the folder was not flushed
            assert touched[number - 1] == "fsync"
            assert_holds(run, UPDATED)
            assert names <= {path.name for path in run.iterdir()}  # and so are the old ones
        else:
            assert_holds(run, CONTENTS)
            assert {path.name for path in run.iterdir()} == names  # nothing is left behind
        update_run(run, NEW)
        assert_holds(run, UPDATED)


def test_how_much_room_is_needed(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trouble_at(monkeypatch, 1, lambda: OSError(errno.EDQUOT, "Disk quota exceeded"))
    with pytest.raises(
        ElmanError, match=r"disk is full; about 8\.0 MB are needed.*before is whole"
    ):
        update_run(run, {"w.safetensors": {"w": np.zeros(1_000_000)}})


def test_an_update_that_is_really_too_large(small_disk: Path) -> None:
    run = small_disk / "run"
    write_run(run, CONTENTS)
    parts = {"a.json": {}, "w.safetensors": {"w": np.zeros(1_000_000)}}
    with pytest.raises(ElmanError, match=r"disk is full; about 8\.0 MB"):
        update_run(run, parts)
    assert_holds(run, CONTENTS)
    assert {path.name for path in run.iterdir()} == {MANIFEST, *CONTENTS}
    update_run(run, NEW)  # the space is free again
    assert_holds(run, UPDATED)


def test_any_other_failure_of_an_update_leaves_nothing_behind(run: Path) -> None:
    with pytest.raises(TypeError):
        update_run(run, {"config.json": {}, "further.json": {"not": object()}})
    assert_holds(run, CONTENTS)
    assert {path.name for path in run.iterdir()} == {MANIFEST, *CONTENTS}


def test_what_is_no_run_is_not_updated(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such run"):
        update_run(tmp_path / "missing", NEW)
    with pytest.raises(InputError, match="not a run folder"):
        update_run(tmp_path, NEW)


def test_a_run_is_read_while_it_is_updated(run: Path) -> None:
    done = threading.Event()

    def update() -> None:
        for number in range(60):
            update_run(run, {"config.json": {"n": number}, "further.json": {"n": number}})
        done.set()

    update_run(run, {"config.json": {"n": -1}, "further.json": {"n": -1}})
    writer = threading.Thread(target=update)
    writer.start()
    while not done.is_set():
        found = read_run(run)
        assert found["config.json"] == found["further.json"]
    writer.join()
    assert read_run(run)["config.json"] == {"n": 59}


def test_one_process_trains_a_run_at_a_time(tmp_path: Path) -> None:
    message = "is being trained by another process"
    with only_writer(tmp_path), pytest.raises(InputError, match=message), only_writer(tmp_path):
        pass
    with only_writer(tmp_path):  # free again
        pass
