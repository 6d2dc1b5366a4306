"""Count a text in files instead of in memory, and continue after an interruption.

Takes the ids of a text, gives shards of counts, or a model; called by `counting.py`. The files are
in the cache folder (`id_files.py`), under a name that depends on the ids and the settings. A shard
that is there is complete, so a restart counts only the missing ones. When the model is saved, or
the process ends, the folder is removed.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from elman.counts.estimate import NgramConfig
from elman.counts.estimate_on_disk import estimate_on_disk
from elman.counts.levels_on_disk import DiskRoom
from elman.counts.resources import Resources
from elman.counts.shards import count_shards, shard_size
from elman.counts.tables import Tables
from elman.errors import InputError
from elman.mapping import forget
from elman.runs.lock import LOCK, Lock, take_lock
from elman.tasks.language_modelling.id_files import cache_folder

Told = Callable[[str], None]
_CHUNK = 1 << 22  # ids that are hashed at a time
_FORMAT = 1  # of the files; another number makes them anew


@contextmanager
def counted_text(
    ids: np.ndarray,
    config: NgramConfig,
    resources: Resources,
    *,
    eos_id: int,
    told: Told,
) -> Iterator[list[Path]]:
    """The shards of a text; removed at the end, unless there is an error or an interruption."""
    tokens = shard_size(resources.bytes, config.order)
    settings = [_FORMAT, config.order, config.context, eos_id, tokens]
    folder = cache_folder() / f"counts-{_fingerprint(ids, settings)}"
    with _locked(folder):
        yield count_shards(
            ids,
            folder,
            order=config.order,
            eos_id=eos_id,
            context=config.context,
            tokens=tokens,
            told=told,
        )
        shutil.rmtree(folder, ignore_errors=True)


def fit_counts(
    files: Sequence[Path],
    config: NgramConfig,
    resources: Resources,
    *,
    engine: str,
    vocabulary_size: int,
    eos_id: int,
    threads: int | None,
    told: Told,
) -> Tables:
    """The tables of a model, mapped from files that exist as long as the tables."""
    folder, lock = _own_folder()
    try:
        tables = estimate_on_disk(
            files,
            config,
            resources.start(engine, folder, threads),
            DiskRoom(folder, resources.bytes // 2),
            vocabulary_size=vocabulary_size,
            eos_id=eos_id,
            told=told,
        )
    except BaseException:
        _remove(folder, lock)
        raise
    weakref.finalize(tables, _remove, folder, lock)
    return tables


def _own_folder() -> tuple[Path, Lock]:
    """A new folder, locked; those of killed processes are removed."""
    with _explained(cache_folder()):
        cache_folder().mkdir(parents=True, exist_ok=True)
        for old in cache_folder().glob("tables-*"):
            with suppress(OSError):
                if (left := take_lock(old / LOCK)) is not None:
                    _remove(old, left)
        folder = Path(tempfile.mkdtemp(prefix="tables-", dir=cache_folder()))
        lock = take_lock(folder / LOCK)
    assert lock is not None  # the name is new
    return folder, lock


def _remove(folder: Path, lock: Lock) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    lock.release()


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be written ({error.strerror}); set ELMAN_CACHE to a folder for "
            "large files"
        ) from None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with _explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = take_lock(folder / LOCK)
    if lock is None:
        raise InputError(f"{folder}: another process is counting this text; wait for it")
    try:
        yield
    finally:
        lock.release()


def _fingerprint(ids: np.ndarray, settings: list[object]) -> str:
    found = hashlib.sha256(repr(settings).encode())
    for start in range(0, len(ids), _CHUNK):
        part = np.asarray(ids[start : start + _CHUNK], dtype=np.int32)
        found.update(np.ascontiguousarray(part).data)
        forget(ids)
    return found.hexdigest()[:24]
