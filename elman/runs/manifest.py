"""The manifest of a run: the file of each part, with its size and SHA-256.

Reads and writes the manifest of a folder as plain data. It also holds its own SHA-256, so that
every changed byte of a run is detected. Called by `folder.py`.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from elman.atomic import replacing
from elman.errors import InputError
from elman.runs.claim import MANIFEST, left_behind, recover
from elman.runs.parts import as_json, open_regular, parse_json, read_text
from elman.version import __version__

_FORMAT = {"format": "elman run", "version": 1}
_PATIENCE = 5.0  # seconds that a reader waits for a run that is being overwritten

Entry = dict[str, Any]  # of one file: bytes, sha256 and, after an update, its stored name


def fingerprint(path: Path) -> Entry:
    """The expected size and SHA-256 of a file."""
    with open_regular(path) as file:
        return _fingerprint(file)


def _fingerprint(file: BinaryIO) -> Entry:
    return {
        "bytes": os.fstat(file.fileno()).st_size,
        "sha256": hashlib.file_digest(file, "sha256").hexdigest(),  # type: ignore[arg-type]
    }


def write_manifest(folder: Path, files: dict[str, Entry], generation: int = 0) -> None:
    """Write the manifest of a folder after so many updates, replacing the previous one."""
    with replacing(folder / MANIFEST) as temporary:
        temporary.write_text(manifest_text(files, generation), encoding="utf-8")


def manifest_text(files: dict[str, Entry], generation: int = 0) -> str:
    """The manifest of these files, as it is written."""
    updates = {"generation": generation} if generation else {}
    return _sealed({**_FORMAT, "elman": __version__, **updates, "files": files})


def _sealed(manifest: dict[str, Any]) -> str:
    """The manifest as text, with its own SHA-256, since no other file holds it."""
    return as_json({**manifest, "sha256": hashlib.sha256(as_json(manifest).encode()).hexdigest()})


class NoSuchRun(InputError):
    """There is no folder of this name; the message shows how to train a run."""

    def __init__(self, path: Path, recipe: str = "") -> None:
        """`recipe`: one that trains such a run, if it is known."""
        super().__init__(
            f"{path}: no such run; train one with: elman train {recipe or 'RECIPE'} --data … "
            f"--out {path}" + ("" if recipe else " (elman list recipes)")
        )
        self.path = path


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a run folder, or an InputError with the reason."""
    if not os.path.exists(path):
        _wait_for(path)
    try:
        text = read_text(path / MANIFEST)
        manifest = parse_json(text)
        ours = manifest["format"] == _FORMAT["format"]
    except (OSError, ValueError, KeyError, TypeError):
        ours = False
    if not ours:
        raise InputError(
            f"{path}: not an elman run folder (it has no readable {MANIFEST}); "
            "name the folder that elman train wrote with --out"
        )
    version = manifest.get("version")
    if version != _FORMAT["version"]:
        raise InputError(
            f"{path}: has run format {version}, but this version of elman reads "
            f"{_FORMAT['version']}; use the version that wrote it"
        )
    manifest.pop("sha256", None)
    if text != _sealed(manifest) or not _names_files(manifest.get("files")):
        raise InputError(f"{path / MANIFEST}: damaged; restore it from a copy or train again")
    return manifest


def _wait_for(path: Path) -> None:
    """Wait for a run that is being overwritten, or restore it if that was interrupted; an
    InputError if there is no run.
    """
    latest = time.monotonic() + _PATIENCE
    while not os.path.exists(path):
        aside = left_behind(path)
        if not aside:
            raise NoSuchRun(path)
        if recover(path):
            return
        if time.monotonic() > latest:
            raise InputError(
                f"{path}: overwriting was interrupted; restore the old run: mv {aside[0]} {path}"
            )
        time.sleep(0.02)


def _names_files(files: Any) -> bool:
    """Whether this maps files to their size and SHA-256."""
    return isinstance(files, dict) and all(
        isinstance(entry, dict)
        and entry.keys() - {"stored"} == {"bytes", "sha256"}
        and isinstance(entry.get("stored", ""), str)
        and isinstance(entry["bytes"], int)
        and isinstance(entry["sha256"], str)
        for entry in files.values()
    )


@contextmanager
def checked_file(path: Path, expected: Entry, *, size_only: bool = False) -> Iterator[None]:
    """Refuse a file that does not match the manifest, or that was replaced during the reading: the
    run may have been overwritten meanwhile. With `size_only`, the file is not read.
    """
    try:
        with open_regular(path) as file:
            (_check_size if size_only else _check_content)(path, file, expected)
            yield
            if not os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                raise InputError(f"{path}: was overwritten during the reading; try again")
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); the run is incomplete"
        ) from None


def _check_content(path: Path, file: BinaryIO, expected: Entry) -> None:
    found = _fingerprint(file)
    if found != expected:
        raise InputError(
            f"{path}: damaged: expected {expected['bytes']:,} bytes with SHA-256 "
            f"{expected['sha256'][:12]}…, found {found['bytes']:,} with "
            f"{found['sha256'][:12]}…; restore it from a copy or train again"
        )


def _check_size(path: Path, file: BinaryIO, expected: Entry) -> None:
    found = os.fstat(file.fileno()).st_size
    if found != expected["bytes"]:
        raise InputError(
            f"{path}: damaged: expected {expected['bytes']:,} bytes, found {found:,}; restore it "
            "from a copy or train again"
        )
