"""One process at a time trains a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from elman.errors import InputError

_LOCK = ".lock"


def is_being_trained(path: Path) -> bool:
    """Whether a process trains this run at this moment."""
    try:
        import fcntl

        with (path / _LOCK).open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (ImportError, FileNotFoundError):
        return False
    except OSError:
        return True
    return False


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """While inside, no other process trains this run; the lock goes when the process does."""
    try:
        import fcntl
    except ImportError:  # Windows has no such locks
        yield
        return
    with (path / _LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{path}: is being trained by another process") from None
        yield
