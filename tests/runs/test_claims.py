"""One writer per run: the second is refused, and nothing is lost or mixed."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from elman.errors import ElmanError, InputError
from elman.runs import claim as claims
from elman.runs.claim import claimed
from elman.runs.folder import fill, read_run, update_run, write_run
from elman.runs.lock import LOCK, is_being_trained, only_writer

Parts = dict[str, Any]
Holds = Callable[[Path, Parts], None]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_run_in_training_is_not_overwritten(
    run: Path, contents: Parts, assert_holds: Holds
) -> None:
    with only_writer(run), pytest.raises(InputError, match="is being trained by another process"):
        write_run(run, {"new.json": {}}, overwrite=True)
    assert_holds(run, contents)
    assert names(run.parent) == ["one"]


def test_a_name_is_claimed_by_one_writer_at_a_time(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with claimed(run) as claim:
        for overwrite in (False, True):
            with pytest.raises(InputError, match="is being written by another process"):
                write_run(run, {"second.json": {}}, overwrite=overwrite)
        fill(claim.folder, {"first.json": {}})
        claim.publish()
    assert [*read_run(run)] == ["first.json"]
    assert names(tmp_path) == ["run"]
    assert names(run) == ["first.json", "manifest.json"]


def test_without_overwrite_a_run_is_renamed_onto_nothing_only(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with claimed(run) as claim:
        fill(claim.folder, {"mine.json": {}})
        run.mkdir()  # by somebody who asks nobody
        (run / "theirs.txt").write_text("x")
        with pytest.raises(InputError, match="run: exists already; choose another --out"):
            claim.publish()
    assert names(tmp_path) == ["run"]
    assert names(run) == ["theirs.txt"]


def test_a_folder_that_was_replaced_meanwhile_is_not_written_to(run: Path, contents: Parts) -> None:
    with only_writer(run) as lock:
        update_run(run, {"config.json": {"mine": 1}}, lock)
        run.rename(run.with_name("away"))
        write_run(run, contents)
        before = {path.name: path.read_bytes() for path in run.iterdir()}
        with pytest.raises(ElmanError, match="one: was moved, replaced or unlocked"):
            update_run(run, {"config.json": {"mine": 2}}, lock)
        assert {path.name: path.read_bytes() for path in run.iterdir()} == before
    assert read_run(run.with_name("away"))["config.json"] == {"mine": 1}


def test_a_link_to_a_run_stays_a_link(run: Path, assert_holds: Holds) -> None:
    link = run.with_name("link")
    link.symlink_to(run)
    write_run(link, {"new.json": {}}, overwrite=True)
    assert link.is_symlink()
    assert_holds(run, {"new.json": {}})
    assert names(run.parent) == ["link", "one"]


def test_what_failed_leaves_no_folders_behind(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), claimed(tmp_path / "a" / "b" / "run"):
        raise RuntimeError
    assert names(tmp_path) == []


# What killed processes leave --------------------------------------------------------------------


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_leftovers_of_dead_processes_are_swept(run: Path, assert_holds: Holds) -> None:
    for ending in ("partial", "old"):
        for number, lock in ((dead_process(), False), (1, True)):  # 1 lives, but holds no lock
            leftover = run.with_name(f".one.{number}.{ending}")
            leftover.mkdir()
            (leftover / "half").write_text("x")
            if lock:
                (leftover / LOCK).touch()
    (run.parent / ".one.lock").touch()
    (run.parent / ".other.1.partial").mkdir()  # of another run
    write_run(run, {"new.json": {}}, overwrite=True)
    assert_holds(run, {"new.json": {}})
    assert names(run.parent) == [".other.1.partial", "one"]


def test_folders_of_living_processes_are_left_alone(run: Path) -> None:
    kept = [run.with_name(name) for name in (".one.1.partial", ".one.99999999.partial")]
    for folder in kept:
        folder.mkdir()
    with only_writer(kept[1]):  # the number is nobody's, but the lock is held
        write_run(run, {"new.json": {}}, overwrite=True)
    assert all(folder.is_dir() for folder in kept)


def test_a_run_whose_overwriting_was_killed_is_put_back_by_the_next_reader(
    run: Path, contents: Parts, assert_holds: Holds
) -> None:
    run.rename(run.with_name(f".one.{dead_process()}.old"))
    assert_holds(run, contents)
    assert names(run.parent) == ["one"]


def test_and_by_the_next_writer(run: Path, contents: Parts, assert_holds: Holds) -> None:
    run.rename(run.with_name(f".one.{dead_process()}.old"))
    with pytest.raises(InputError, match="exists already"):
        write_run(run, {"new.json": {}})
    assert_holds(run, contents)


def test_the_only_copy_of_a_run_is_never_swept(run: Path, contents: Parts) -> None:
    old = run.with_name(f".one.{dead_process()}.old")
    run.rename(old)
    run.mkdir()  # by somebody who misses it
    with claimed(run):
        pass
    assert read_run(old).keys() == contents.keys()


def test_a_reader_waits_for_an_overwrite(
    run: Path, monkeypatch: pytest.MonkeyPatch, assert_holds: Holds
) -> None:
    monkeypatch.setattr(claims, "exchange", lambda first, second: False)  # it takes two renames
    between, rename = threading.Event(), Path.rename

    def slow(self: Path, target: Path) -> Path:
        if self.name.endswith(".partial"):
            between.set()
            time.sleep(0.3)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", slow)
    writer = threading.Thread(
        target=write_run, args=(run, {"new.json": {}}), kwargs={"overwrite": True}
    )
    writer.start()
    assert between.wait(5)
    assert not run.exists()
    assert_holds(run, {"new.json": {}})
    writer.join()
    assert names(run.parent) == ["one"]


def test_a_reader_never_finds_a_gap_where_folders_can_change_places(tmp_path: Path) -> None:
    run = tmp_path / "run"
    write_run(run, {"a.json": {"n": -1}, "b.json": {"n": -1}})
    (tmp_path / "x").mkdir()
    (tmp_path / "y").mkdir()
    if not claims.exchange(tmp_path / "x", tmp_path / "y"):
        pytest.skip("needs a system and a disk that can exchange two names")
    done = threading.Event()

    def overwrite() -> None:
        for number in range(40):
            write_run(run, {"a.json": {"n": number}, "b.json": {"n": number}}, overwrite=True)
        done.set()

    writer = threading.Thread(target=overwrite)
    writer.start()
    while not done.is_set():
        found = read_run(run)
        assert found["a.json"] == found["b.json"]
        assert run.exists()
    writer.join()


def test_a_lock_is_gone_with_its_process(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from elman.runs.lock import lock_folder\n"
        "lock_folder(Path(sys.argv[1])); print('held', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    assert is_being_trained(tmp_path)
    with pytest.raises(InputError, match="is being trained by another process"):
        only_writer(tmp_path).__enter__()
    process.kill()
    process.wait()
    process.stdout.close()
    assert not is_being_trained(tmp_path)
    with only_writer(tmp_path) as lock:
        assert lock.held()
    assert not (tmp_path / LOCK).exists()


def test_a_disk_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl")

    def fail(descriptor: int, flags: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", fail)
    with pytest.raises(InputError, match="cannot be written .No locks available"):
        write_run(tmp_path / "run", {"a.json": {}})


def test_names_that_are_not_utf8_are_kept(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    write_run(tmp_path / name, {"facts.json": {"name": name, "list": [name]}})
    assert read_run(tmp_path / name)["facts.json"] == {"name": name, "list": [name]}
    assert b"caf\\udce9" in (tmp_path / name / "facts.json").read_bytes()
