"""Run folders on disk: written whole or not at all, and checked when read.

Takes named pieces of data, gives a folder with a manifest that holds the SHA-256 of every file.
A folder is written under a temporary name, flushed to disk, and renamed: it is there whole or not
at all. Overwriting takes two renames; a process killed between them leaves the old run beside its
place, and reading says where. Reading refuses what was damaged.

A run that is still being trained is updated in place: new parts are written beside the old ones
under new names (`last.7.safetensors`), then the manifest, which says which file holds which part,
is replaced in one rename. Killed at any moment, the folder holds the old parts or the new ones.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from elman.atomic import flush
from elman.errors import ElmanError, InputError
from elman.runs.manifest import (
    MANIFEST,
    Entry,
    check_file,
    fingerprint,
    read_manifest,
    write_manifest,
)
from elman.runs.parts import Content, read_part, size_of, write_part


def write_run(path: Path, contents: Mapping[str, Content], *, overwrite: bool = False) -> None:
    """Write a run folder: `.json` from data, `.safetensors` from arrays, the rest from text."""
    refuse_existing(path, overwrite)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(temporary, ignore_errors=True)  # of a killed process with our number
        temporary.mkdir()
        for name, content in contents.items():
            write_part(temporary / name, content)
        files = {file.name: fingerprint(file) for file in sorted(temporary.iterdir())}
        write_manifest(temporary, files)
        flush(temporary)
        _put_in_place(temporary, path)
    except OSError as error:
        raise _cannot_write(path, error, contents) from None
    finally:
        with suppress(OSError):
            shutil.rmtree(temporary)


def refuse_existing(path: Path, overwrite: bool) -> None:
    """An error if the place is taken: nothing is overwritten unless asked."""
    if path.name in ("", ".."):
        raise InputError(f"{path}: name a folder of its own for the run, as in --out runs/mine")
    # os.path, unlike Path.exists, is at ease with names too long for a file.
    try:
        if not os.path.lexists(path) or (os.path.isdir(path) and not os.listdir(path)):
            return
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); choose another --out"
        ) from None
    if not overwrite:
        raise InputError(f"{path}: exists already; choose another --out or add --overwrite")
    if not (path / MANIFEST).exists():
        raise InputError(f"{path}: is not a run of elman, so it is not overwritten")


def update_run(path: Path, contents: Mapping[str, Content]) -> None:
    """Replace or add parts of a run folder: all of them or, if that fails, none."""
    manifest = read_manifest(path)
    generation = manifest.get("generation", 0) + 1
    files, written = dict(manifest["files"]), []
    try:
        for name, content in contents.items():
            stored = f"{Path(name).stem}.{generation}{Path(name).suffix}"
            written.append(path / stored)
            write_part(path / stored, content)
            files[name] = {**fingerprint(path / stored), "stored": stored}
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
        # The new parts may or may not outlive a power failure, so the old ones stay as well.
        raise _cannot_write(path, error, contents) from None
    _remove_others(path, files)


def _remove_others(path: Path, files: Mapping[str, Entry]) -> None:
    """Remove parts that the manifest no longer names, also those of an update that was killed."""
    used = {entry.get("stored", name) for name, entry in files.items()}
    ours = [
        rf"{re.escape(Path(name).stem)}(\.\d+)?{re.escape(Path(name).suffix)}" for name in files
    ]
    ours.append(rf"\.{re.escape(MANIFEST)}(\.\d+)?\.partial")
    with suppress(OSError):  # what could not be removed will be after the next update
        for file in sorted(path.iterdir()):
            if file.name not in used and any(re.fullmatch(name, file.name) for name in ours):
                file.unlink()


def read_run(path: Path, names: Iterable[str] | None = None) -> dict[str, Any]:
    """What is in a run folder, or some of it, by name; each file is checked with the manifest."""
    wanted = None if names is None else list(names)
    manifest = read_manifest(path)
    while True:
        try:
            return _read_parts(path, manifest, manifest["files"] if wanted is None else wanted)
        except InputError:
            before, manifest = manifest, read_manifest(path)
            if manifest == before:  # else it was being updated while it was read
                raise


def _read_parts(path: Path, manifest: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    contents: dict[str, Any] = {}
    for name in names:
        if name not in manifest["files"]:
            continue
        expected = dict(manifest["files"][name])
        stored = expected.pop("stored", name)
        if Path(stored).name != stored or "\0" in stored:
            raise InputError(f"{path / MANIFEST}: names a file outside the folder ({stored})")
        check_file(path / stored, expected)
        contents[name] = read_part(path / stored)
    return contents


def _put_in_place(temporary: Path, path: Path) -> None:
    """Give a folder its name; what had that name before goes when the new one is on the disk."""
    old = path.with_name(f".{path.name}.{os.getpid()}.old")
    if path.exists():
        shutil.rmtree(old, ignore_errors=True)
        path.rename(old)
    try:
        temporary.rename(path)
    except OSError:
        if old.exists():
            old.rename(path)
        raise
    try:
        flush(path.parent)
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _cannot_write(path: Path, error: OSError, contents: Mapping[str, Content]) -> ElmanError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        needed = sum(size_of(name, content) for name, content in contents.items())
        return ElmanError(
            f"{path}: the disk is full; about {needed / 1e6:,.1f} MB are needed. "
            "What was saved before is whole"
        )
    return InputError(f"{path}: cannot be written ({error.strerror}); choose another --out")
