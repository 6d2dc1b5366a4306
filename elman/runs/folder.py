"""Run folders on disk: written atomically, and checked when read.

Takes named pieces of data, gives a folder with a manifest that holds the SHA-256 of every file.
A folder is written under a temporary name, flushed to disk, and renamed: it is complete or absent
(`claim.py`). Reading refuses damaged files, and waits while a run is being overwritten.

A run that is still being trained is updated in place: new parts are written beside the old ones
under new names (`last.7.safetensors`), then the manifest, which maps parts to files, is replaced in
one rename. If the process is killed at any moment, the folder holds the old parts or the new ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from elman.atomic import flush
from elman.errors import ElmanError, InputError
from elman.runs.claim import MANIFEST, cannot_write, claimed
from elman.runs.lock import Lock, only_writer
from elman.runs.manifest import (
    Entry,
    checked_file,
    fingerprint,
    read_manifest,
    write_manifest,
)
from elman.runs.parts import Content, map_part, read_part, size_of, write_part

MAPPED_FROM = 1 << 25  # bytes; smaller files are always read and verified in full


def write_run(path: Path, contents: Mapping[str, Content], *, overwrite: bool = False) -> None:
    """Write a run folder: `.json` from data, `.safetensors` from arrays, the rest from text."""
    with explained(path, contents), claimed(path, overwrite=overwrite) as claim:
        fill(claim.folder, contents)
        claim.publish()


@contextmanager
def explained(path: Path, contents: Mapping[str, Content]) -> Iterator[None]:
    """Turn write errors for these contents into one-line errors."""
    try:
        yield
    except OSError as error:
        raise _cannot_write(path, error, contents) from None


def fill(folder: Path, contents: Mapping[str, Content]) -> None:
    """Write the parts of a run and its manifest into a folder that is not yet in its place."""
    for name, content in contents.items():
        write_part(folder / name, content)
    files = {name: fingerprint(folder / name) for name in sorted(contents)}
    write_manifest(folder, files)
    flush(folder)


def update_run(path: Path, contents: Mapping[str, Content], lock: Lock | None = None) -> None:
    """Replace or add parts of a run folder: all of them or, if that fails, none.

    `lock`: the lock of the folder, if it is already held.
    """
    if lock is None:
        read_manifest(path)  # refuses a folder that is not a run
        with only_writer(path) as lock:
            _update(path, contents, lock)
    else:
        _update(path, contents, lock)


def _update(path: Path, contents: Mapping[str, Content], lock: Lock) -> None:
    lock.check()
    manifest = read_manifest(path)
    generation = manifest.get("generation", 0) + 1
    files, written = dict(manifest["files"]), []
    try:
        for name, content in contents.items():
            stored = f"{Path(name).stem}.{generation}{Path(name).suffix}"
            written.append(path / stored)
            write_part(path / stored, content)
            files[name] = {**fingerprint(path / stored), "stored": stored}
        lock.check()
        write_manifest(path, files, generation)
    except Exception as error:
        for file in written:
            with suppress(OSError):
                file.unlink()
        if isinstance(error, OSError):
            raise _cannot_write(path, error, contents) from None
        raise
    try:
        flush(path)
    except OSError as error:
        # The new parts may not survive a power failure, so the old ones stay as well.
        raise _cannot_write(path, error, contents) from None
    _remove_others(path, files)


def _remove_others(path: Path, files: Mapping[str, Entry]) -> None:
    """Remove parts that the manifest no longer names, including those of a killed update."""
    used = {entry.get("stored", name) for name, entry in files.items()}
    ours = [
        rf"{re.escape(Path(name).stem)}(\.\d+)?{re.escape(Path(name).suffix)}" for name in files
    ]
    ours.append(rf"\.{re.escape(MANIFEST)}(\.\d+)?\.partial")
    with suppress(OSError):  # the next update tries again
        for file in sorted(path.iterdir()):
            if file.name not in used and any(re.fullmatch(name, file.name) for name in ours):
                file.unlink()


# Called before the arrays of a part are read: its name, its file, and the parts without arrays.
Check = Callable[[str, Path, dict[str, Any]], None]


def read_run(
    path: Path,
    names: Iterable[str] | None = None,
    check: Check = lambda name, file, contents: None,
    maps: Callable[[dict[str, Any]], bool] = lambda contents: False,
) -> dict[str, Any]:
    """Read the parts of a run folder, or some of them, by name; each is checked by the manifest.

    `check` may refuse arrays by their shapes, before they are loaded into memory. `maps` decides by
    the parts without arrays whether large arrays are mapped instead of read: then only the size of
    their file and its header are checked, not its SHA-256.
    """
    wanted = None if names is None else list(names)
    manifest = read_manifest(path)
    while True:
        try:
            parts = manifest["files"] if wanted is None else wanted
            return _read_parts(path, manifest, parts, check, maps)
        except InputError:
            before, manifest = manifest, read_manifest(path)
            if manifest == before:  # else the run was updated during the reading
                raise


def _read_parts(
    path: Path,
    manifest: dict[str, Any],
    names: Iterable[str],
    check: Check,
    maps: Callable[[dict[str, Any]], bool],
) -> dict[str, Any]:
    contents: dict[str, Any] = {}
    for name in sorted(names, key=lambda name: name.endswith(".safetensors")):
        if name not in manifest["files"]:
            continue
        expected = dict(manifest["files"][name])
        stored = expected.pop("stored", name)
        if Path(stored).name != stored or "\0" in stored:
            raise InputError(f"{path / MANIFEST}: names a file outside the folder ({stored})")
        mapped = False
        if stored.endswith(".safetensors"):
            check(name, path / stored, contents)
            mapped = expected["bytes"] >= MAPPED_FROM and maps(contents)
        with checked_file(path / stored, expected, size_only=mapped):
            contents[name] = (map_part if mapped else read_part)(path / stored)
    return contents


def _cannot_write(path: Path, error: OSError, contents: Mapping[str, Content]) -> ElmanError:
    needed = sum(size_of(name, content) for name, content in contents.items())
    return cannot_write(path, error, needed)
