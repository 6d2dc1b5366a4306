"""Updates of a run folder: parts are replaced and added, the rest is unchanged."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from elman.errors import InputError
from elman.runs.claim import MANIFEST
from elman.runs.folder import read_run, update_run, write_run

Parts = dict[str, Any]
Holds = Callable[[Path, Parts], None]


def test_an_update_replaces_adds_and_leaves_the_rest(
    run: Path, new_parts: Parts, updated: Parts, assert_holds: Holds
) -> None:
    update_run(run, new_parts)
    assert_holds(run, updated)
    update_run(run, {"config.json": {"again": 1}})
    assert_holds(run, updated | {"config.json": {"again": 1}})
    names = {path.name for path in run.iterdir()}
    assert names == {
        MANIFEST,
        "notes.txt",
        "config.2.json",
        "weights.1.safetensors",
        "further.1.json",
    }


def test_a_run_that_was_updated_is_overwritten_as_any_other(
    run: Path, contents: Parts, new_parts: Parts, assert_holds: Holds
) -> None:
    update_run(run, new_parts)
    write_run(run, contents, overwrite=True)
    assert_holds(run, contents)


def test_some_parts_are_read_without_the_others(
    run: Path, contents: Parts, new_parts: Parts
) -> None:
    update_run(run, new_parts)
    (run / "weights.1.safetensors").unlink()
    found = read_run(run, ["config.json", "notes.txt", "none.json"])
    assert found == {"config.json": new_parts["config.json"], "notes.txt": contents["notes.txt"]}


def test_what_is_not_of_the_run_is_left_alone(run: Path, new_parts: Parts) -> None:
    others = ["weights.old.safetensors", "config.mine.json", "history.jsonl", "weights.1.txt"]
    for name in others:
        (run / name).write_text("x")
    update_run(run, new_parts)
    update_run(run, new_parts)
    assert all((run / name).read_text() == "x" for name in others)


@pytest.mark.parametrize("name", [".manifest.json.partial", ".manifest.json.99999.partial"])
def test_the_manifest_of_a_killed_update_goes_with_the_next(
    run: Path, new_parts: Parts, name: str
) -> None:
    (run / name).write_text("half")
    update_run(run, new_parts)
    assert not (run / name).exists()


def test_what_is_no_run_is_not_updated(tmp_path: Path, new_parts: Parts) -> None:
    with pytest.raises(InputError, match="no such run"):
        update_run(tmp_path / "missing", new_parts)
    with pytest.raises(InputError, match="not an elman run folder"):
        update_run(tmp_path, new_parts)


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
