"""Claims: processes that share a folder never work on the same row or training.

A claim is a set of locks: one for every training that is not finished, and one for the row. The
locks are released when the process ends, for whatever reason (`runs/lock.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from elman.errors import InputError
from elman.runs.lock import Lock, take_lock


@contextmanager
def claiming(folder: Path, names: Iterable[str]) -> Iterator[bool]:
    """Claim all of these names; gives False and claims none if another process holds one."""
    held: list[Lock] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in sorted(set(names)):
            lock = take_lock(folder / f"{re.sub(r'[^A-Za-z0-9.-]+', '-', name)}.lock")
            if lock is None:
                _release(held)
                break
            held.append(lock)
    except OSError as error:
        _release(held)
        raise InputError(f"{folder}: cannot be written ({error.strerror})") from None
    try:
        yield bool(held)
    finally:
        _release(held)


def _release(locks: list[Lock]) -> None:
    while locks:
        locks.pop().release()
