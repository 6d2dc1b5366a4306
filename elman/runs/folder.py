"""Run folders on disk: written whole or not at all, and checked when read.

Takes named pieces of data, gives a folder with a manifest that holds the SHA-256 of every file.
A folder is written under a temporary name, flushed to disk, and renamed: it is there whole or not
at all. Overwriting takes two renames; a process killed between them leaves the old run beside its
place, and reading says where. Reading refuses what was damaged. Nothing is pickled.

A run that is still being trained is updated in place: new parts are written beside the old ones
under new names (`last.7.safetensors`), then the manifest, which says which file holds which part,
is replaced in one rename. Killed at any moment, the folder holds the old parts or the new ones.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from elman.errors import ElmanError, InputError
from elman.version import __version__

MANIFEST = "manifest.json"
LOCK = ".lock"
FORMAT = {"format": "elman run", "version": 1}

Content = dict[str, Any] | Mapping[str, np.ndarray] | str


def write_run(path: Path, contents: Mapping[str, Content], *, overwrite: bool = False) -> None:
    """Write a run folder: `.json` from data, `.safetensors` from arrays, the rest from text."""
    refuse_existing(path, overwrite)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(temporary, ignore_errors=True)  # of a killed process with our number
        temporary.mkdir()
        for name, content in contents.items():
            _write_content(temporary / name, content)
        _write_content(temporary / MANIFEST, _manifest(temporary))
        _flush(temporary)
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


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """While inside, no other process trains this run; the lock goes when the process does."""
    try:
        import fcntl
    except ImportError:  # Windows has no such locks
        yield
        return
    with (path / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{path}: is being trained by another process") from None
        yield


def update_run(path: Path, contents: Mapping[str, Content]) -> None:
    """Replace or add parts of a run folder: all of them or, if that fails, none."""
    manifest = _read_manifest(path)
    generation = manifest.get("generation", 0) + 1
    files, written = dict(manifest["files"]), []
    temporary = path / f".{MANIFEST}.partial"
    try:
        for name, content in contents.items():
            stored = f"{Path(name).stem}.{generation}{Path(name).suffix}"
            written.append(path / stored)
            _write_content(path / stored, content)
            files[name] = {**_fingerprint(path / stored), "stored": stored}
        updated = {**FORMAT, "elman": __version__, "generation": generation, "files": files}
        written.append(temporary)
        _write_content(temporary, _as_json(_seal(updated)))
        temporary.rename(path / MANIFEST)
    except Exception as error:
        for file in written:
            with suppress(OSError):
                file.unlink()
        if isinstance(error, OSError):
            raise _cannot_write(path, error, contents) from None
        raise
    try:
        _flush(path)
    except OSError as error:
        # The new parts may or may not outlive a power failure, so the old ones stay as well.
        raise _cannot_write(path, error, contents) from None
    _remove_others(path, files)


def _remove_others(path: Path, files: Mapping[str, dict[str, Any]]) -> None:
    """Remove parts that the manifest no longer names, also those of an update that was killed."""
    used = {entry.get("stored", name) for name, entry in files.items()}
    ours = [
        rf"{re.escape(Path(name).stem)}(\.\d+)?{re.escape(Path(name).suffix)}" for name in files
    ]
    with suppress(OSError):  # what could not be removed will be after the next update
        for file in sorted(path.iterdir()):
            if file.name not in used and any(re.fullmatch(name, file.name) for name in ours):
                file.unlink()


def read_run(path: Path, names: Iterable[str] | None = None) -> dict[str, Any]:
    """What is in a run folder, or some of it, by name; each file is checked with the manifest."""
    wanted = None if names is None else list(names)
    manifest = _read_manifest(path)
    while True:
        try:
            return _read_parts(path, manifest, manifest["files"] if wanted is None else wanted)
        except InputError:
            before, manifest = manifest, _read_manifest(path)
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
        _check(path / stored, expected)
        contents[name] = _read_content(path / stored)
    return contents


def _read_manifest(path: Path) -> dict[str, Any]:
    if not os.path.exists(path):
        raise _no_such_run(path)
    try:
        text = (path / MANIFEST).read_text(encoding="utf-8")
        manifest = json.loads(text)
        ours = manifest["format"] == FORMAT["format"]
    except (OSError, ValueError, KeyError, TypeError):
        ours = False
    if not ours:
        raise InputError(f"{path}: not a run folder of elman (it has no readable {MANIFEST})")
    version = manifest.get("version")
    if version != FORMAT["version"]:
        raise InputError(
            f"{path}: is of run format {version}, but this elman reads "
            f"{FORMAT['version']}; use the elman that wrote it"
        )
    manifest.pop("sha256", None)
    if text != _as_json(_seal(manifest)) or not _names_files(manifest.get("files")):
        raise InputError(f"{path / MANIFEST}: damaged; restore it from a copy or train again")
    return manifest


def _no_such_run(path: Path) -> InputError:
    """Says how to get one; or where it is, if a process was killed while overwriting it."""
    old = sorted(path.parent.glob(f".{path.name}.*.old")) if path.parent.is_dir() else []
    if old:
        return InputError(
            f"{path}: was being overwritten; the old run is whole: mv {old[0]} {path}"
        )
    return InputError(
        f"{path}: no such run; train one with: elman train ngram --data … --out {path}"
    )


def _names_files(files: Any) -> bool:
    """Whether this is a table of files with the size and the SHA-256 of each."""
    return isinstance(files, dict) and all(
        isinstance(entry, dict)
        and entry.keys() - {"stored"} == {"bytes", "sha256"}
        and isinstance(entry.get("stored", ""), str)
        and isinstance(entry["bytes"], int)
        and isinstance(entry["sha256"], str)
        for entry in files.values()
    )


def _check(path: Path, expected: dict[str, Any]) -> None:
    try:
        found = _fingerprint(path)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); the run is incomplete"
        ) from None
    if found != expected:
        raise InputError(
            f"{path}: damaged: expected {expected['bytes']:,} bytes with SHA-256 "
            f"{expected['sha256'][:12]}…, found {found['bytes']:,} with {found['sha256'][:12]}…; "
            "restore it from a copy or train again"
        )


def _fingerprint(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return {
            "bytes": os.fstat(file.fileno()).st_size,
            "sha256": hashlib.file_digest(file, "sha256").hexdigest(),
        }


def _manifest(folder: Path) -> dict[str, Any]:
    files = {path.name: _fingerprint(path) for path in sorted(folder.iterdir())}
    return _seal({**FORMAT, "elman": __version__, "files": files})


def _seal(manifest: dict[str, Any]) -> dict[str, Any]:
    """With its own SHA-256, since no other file holds it."""
    return {**manifest, "sha256": hashlib.sha256(_as_json(manifest).encode()).hexdigest()}


def _as_json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


def _read_content(path: Path) -> Any:
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        text = path.read_text(encoding="utf-8")
        return json.loads(text) if path.suffix == ".json" else text
    except (SafetensorError, ValueError) as error:
        raise InputError(f"{path}: cannot be understood ({error})") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def _write_content(path: Path, content: Content) -> None:
    if path.suffix == ".safetensors":
        arrays = {name: np.asarray(array, order="C") for name, array in content.items()}  # type: ignore[union-attr]
        path.write_bytes(save(arrays))
    elif path.suffix == ".json":
        path.write_text(_as_json(content), encoding="utf-8")
    else:
        path.write_text(str(content), encoding="utf-8")
    _flush(path)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _put_in_place(temporary: Path, path: Path) -> None:
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
        _flush(path.parent)
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _cannot_write(path: Path, error: OSError, contents: Mapping[str, Content]) -> ElmanError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        needed = sum(_size(name, content) for name, content in contents.items())
        return ElmanError(
            f"{path}: the disk is full; about {needed / 1e6:,.1f} MB are needed. "
            "What was saved before is whole"
        )
    return InputError(f"{path}: cannot be written ({error.strerror}); choose another --out")


def _size(name: str, content: Content) -> int:
    if name.endswith(".safetensors"):
        return sum(array.nbytes for array in content.values())  # type: ignore[union-attr, misc]
    return len(_as_json(content))
