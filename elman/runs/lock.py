"""Locks: one process at a time writes to a run folder, or to a name that is being built.

A lock is a small file that a process holds with `flock`; it is released when the process ends, in
whatever way. The holder removes the file when it is done, so a process that has locked a file
checks that the file still has that name. `Lock.check` repeats this at every update: a folder that
was moved or replaced meanwhile is not written to.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from elman.errors import ElmanError, InputError

try:
    import fcntl

    _HAS_LOCKS = True
except ImportError:  # Windows
    _HAS_LOCKS = False

LOCK = ".lock"
_PATIENCE = 0.2  # seconds: `is_being_trained` holds a lock for a moment to look at it
_BUSY = (errno.EWOULDBLOCK, errno.EACCES)


class Lock:
    """A locked file, held until it is released."""

    def __init__(self, file: Path, descriptor: int) -> None:
        self.file = file
        self._descriptor = descriptor

    def held(self) -> bool:
        """Whether the file of that name is still the one that is locked."""
        try:
            return os.path.samestat(os.stat(self.file), os.fstat(self._descriptor))
        except OSError:
            return False

    def check(self) -> None:
        """Raise an error if the folder was moved or replaced since it was locked."""
        if not self.held():
            raise ElmanError(
                f"{self.file.parent}: was moved, replaced or unlocked by another process during"
                " writing; nothing was changed there"
            )

    def follow(self, folder: Path) -> None:
        """Note that the folder of the locked file was renamed."""
        self.file = folder / self.file.name

    def release(self) -> None:
        """Release the lock and remove the file."""
        if self.held():
            with suppress(OSError):
                os.unlink(self.file)
        os.close(self._descriptor)


def take_lock(file: Path) -> Lock | None:
    """Lock a file, creating it if needed; None if another process holds it."""
    latest = time.monotonic() + _PATIENCE
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | _NONBLOCK, 0o666)
        try:
            taken = _flock(descriptor)
        except OSError:
            os.close(descriptor)
            raise
        lock = Lock(file, descriptor)
        if taken and lock.held():
            return lock
        os.close(descriptor)
        if not taken:  # else its holder has just removed it: create another
            if time.monotonic() > latest:
                return None
            time.sleep(0.01)


_NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # the name may belong to a FIFO


def _flock(descriptor: int) -> bool:
    """Lock the file if possible; always True on systems without such locks (Windows)."""
    if not _HAS_LOCKS:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _BUSY:
            return False
        raise
    return True


def is_being_trained(path: Path) -> bool:
    """Whether a process is writing to this run."""
    if not _HAS_LOCKS:
        return False
    try:
        descriptor = os.open(path / LOCK, os.O_RDONLY | _NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def lock_folder(path: Path) -> Lock:
    """The lock of a run folder, or an InputError if another process has it."""
    try:
        lock = take_lock(path / LOCK)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    if lock is None:
        raise InputError(f"{path}: is being trained by another process; wait for it or stop it")
    return lock


@contextmanager
def only_writer(path: Path) -> Iterator[Lock]:
    """Inside this context, no other process writes to this run folder."""
    lock = lock_folder(path)
    try:
        yield lock
    finally:
        lock.release()
