"""A name claimed for a run: one process makes the run beside its place, then puts it there.

    runs/.mine.lock            held while a run of this name is made
    runs/.mine.4711.partial    the run, until it is complete
    runs/.mine.4711.old        what had the name before, for a moment

`Claim.publish` gives the new run its name. Where there was nothing, a rename does it, and fails if
something has come there. Where there was a run, which the claim holds locked, the two change places
in one stroke; on systems that cannot do that it takes two renames, and a reader who comes between
them waits (`recover`). What killed processes left behind goes at the next claim of the name.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from elman.atomic import flush
from elman.errors import DiskFull, ElmanError, InputError
from elman.runs.lock import LOCK, Lock, is_being_trained, lock_folder, take_lock

MANIFEST = "manifest.json"


class Claim:
    """A run that is being made, and the only right to its name."""

    def __init__(self, path: Path, folder: Path, lock: Lock, replaced: Lock | None) -> None:
        self.path = path
        self.folder = folder  # where it is now: beside its place, or in it once it is published
        self.lock = lock  # of the folder
        self.published = False
        self._replaced = replaced  # the lock of the run that had the name before, if any

    @property
    def replaces(self) -> bool:
        """Whether there is a run of that name already."""
        return self._replaced is not None

    def publish(self) -> None:
        """Put the run in its place; what was there before goes when this is on the disk."""
        self.lock.check()
        old = None
        if self._replaced is None:
            _rename_onto_nothing(self.folder, self.path)
        else:
            self._replaced.check()
            old = _change_places(self.folder, self.path)
        self.folder = self.path
        self.lock.follow(self.path)
        self.published = True
        try:
            flush(self.path.parent)
        finally:
            if old is not None:
                shutil.rmtree(old, ignore_errors=True)


@contextmanager
def claimed(path: Path, *, overwrite: bool = False) -> Iterator[Claim]:
    """The right to make a run of this name, with a fresh folder beside its place to fill.

    The folder is removed at the end if it was not published.
    """
    refuse_existing(path, overwrite)
    if path.is_symlink():
        path = Path(os.path.realpath(path))  # the folder is replaced, not the link to it
    with ExitStack() as held:
        try:
            claim = _claim(path, overwrite, held)
        except OSError as error:
            raise cannot_write(path, error) from None
        yield claim


def _claim(path: Path, overwrite: bool, held: ExitStack) -> Claim:
    held.callback(_remove_empty, _make_parents(path))
    held.callback(_name_lock(path).release)
    _recover(path)
    refuse_existing(path, overwrite)  # again, now that nobody else can make it
    replaced = None
    if os.path.isdir(path) and os.listdir(path):
        replaced = lock_folder(path)
        held.callback(replaced.release)
    _sweep(path)
    folder = path.with_name(f".{path.name}.{os.getpid()}.partial")
    folder.mkdir()
    held.callback(shutil.rmtree, folder, ignore_errors=True)  # whatever has that name then
    lock = lock_folder(folder)
    held.callback(lock.release)
    return Claim(path, folder, lock, replaced)


def cannot_write(path: Path, error: OSError, needed: int = 0) -> ElmanError:
    """What the disk refuses, in one line; `needed`: bytes, if it is known how many."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        room = f"about {needed / 1e6:,.1f} MB are needed. " if needed else ""
        return DiskFull(f"{path}: the disk is full; {room}What was saved before is whole")
    return InputError(f"{path}: cannot be written ({error.strerror}); choose another --out")


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
    if is_being_trained(path):
        raise InputError(
            f"{path}: is being trained by another process, so it is not overwritten; "
            "choose another --out"
        )


def recover(path: Path) -> bool:
    """Put back a run whose overwriting was cut short; False if that cannot be done now.

    For a reader who finds nothing where a run was: either it is being overwritten at this moment,
    or the process that did so was killed between two renames.
    """
    try:
        lock = take_lock(_name_lock_file(path))
        if lock is None:
            return False
        try:
            _recover(path)
        finally:
            lock.release()
    except OSError:
        return False
    return os.path.lexists(path)


def left_behind(path: Path) -> list[Path]:
    """The runs that had this name and were moved aside, if any."""
    return [folder for folder in _beside(path) if folder.name.endswith(".old")]


def _recover(path: Path) -> None:
    if os.path.lexists(path):
        return
    for folder in left_behind(path):
        if not _in_use(folder):
            _rename_onto_nothing(folder, path)
            return


def _name_lock_file(path: Path) -> Path:
    return path.with_name(f".{path.name}{LOCK}")


def _name_lock(path: Path) -> Lock:
    lock = take_lock(_name_lock_file(path))
    if lock is None:
        raise InputError(
            f"{path}: is being written by another process; wait for it or choose another --out"
        )
    return lock


def _beside(path: Path) -> list[Path]:
    """Folders that writers of this name have made beside it."""
    ours = re.compile(rf"\.{re.escape(path.name)}\.\d+\.(partial|old)")
    try:
        names = sorted(os.listdir(path.parent))
    except OSError:
        return []
    return [path.with_name(name) for name in names if ours.fullmatch(name)]


def _sweep(path: Path) -> None:
    """Remove what killed processes left beside the place; never what a living one uses, and never
    the only copy of a run.
    """
    for folder in _beside(path):
        needed = folder.name.endswith(".old") and not (path / MANIFEST).exists()
        if not needed and not _in_use(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _in_use(folder: Path) -> bool:
    """Whether a process works with a folder: it holds its lock or, before it has one, its name."""
    if (folder / LOCK).exists():
        return is_being_trained(folder)
    number = int(folder.name.split(".")[-2])
    if number == os.getpid():
        return False  # of a killed process that had our number
    if os.name == "nt":
        return True  # cannot be asked without ending it
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def _rename_onto_nothing(folder: Path, path: Path) -> None:
    """Give a folder a name that nothing has, or an empty folder: POSIX replaces no other."""
    try:
        folder.rename(path)
    except OSError as error:
        if not os.path.lexists(path):
            raise
        if os.name == "nt":  # where even an empty folder is in the way
            with suppress(OSError):
                path.rmdir()
                folder.rename(path)
                return
        raise InputError(
            f"{path}: exists already; choose another --out or add --overwrite"
        ) from error


def _change_places(folder: Path, path: Path) -> Path:
    """Give a folder the name of another one; where that other one is now."""
    if exchange(folder, path):
        return folder
    old = path.with_name(f".{path.name}.{os.getpid()}.old")
    path.rename(old)
    try:
        folder.rename(path)
    except OSError:
        old.rename(path)
        raise
    return old


def _make_parents(path: Path) -> list[Path]:
    """Make the folders above a place; those that were not there, the deepest first."""
    missing = []
    for parent in path.parents:
        if os.path.lexists(parent):
            break
        missing.append(parent)
    path.parent.mkdir(parents=True, exist_ok=True)
    return missing


def _remove_empty(folders: list[Path]) -> None:
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


_HERE = -100  # AT_FDCWD: names are relative to the working directory
_EXCHANGE = 2  # RENAME_EXCHANGE


def exchange(first: Path, second: Path) -> bool:
    """Let two folders change names at one moment; False, and nothing done, if that cannot be."""
    rename = _renameat2()
    if rename is None:
        return False
    return rename(_HERE, os.fsencode(first), _HERE, os.fsencode(second), _EXCHANGE) == 0


@functools.cache
def _renameat2() -> Callable[..., int] | None:
    try:
        function = ctypes.CDLL(None).renameat2
    except (OSError, TypeError, AttributeError):  # not this system, or an old one
        return None
    name = (ctypes.c_int, ctypes.c_char_p)
    function.argtypes = [*name, *name, ctypes.c_uint]
    return function
