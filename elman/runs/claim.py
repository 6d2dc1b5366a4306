"""Claim a name for a run: one process builds the run beside its place, then publishes it.

    runs/.mine.lock            held while a run of this name is built
    runs/.mine.4711.partial    the run, until it is complete
    runs/.mine.4711.old        the previous run of this name, for a moment

`Claim.publish` gives the new run its name. If the name is free, a rename does it, and fails if
another process took the name meanwhile. If there is a run, which the claim holds locked, the two
are exchanged atomically; systems without that need two renames, and a reader who comes between
them waits (`recover`). The next claim of the name removes leftovers of killed processes.
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
    """A run that is being built, with the exclusive right to its name."""

    def __init__(self, path: Path, folder: Path, lock: Lock, replaced: Lock | None) -> None:
        self.path = path
        self.folder = folder  # its current path: beside its place, or in place once published
        self.lock = lock  # of the folder
        self.published = False
        self._replaced = replaced  # the lock of the run that had the name before, if any

    @property
    def replaces(self) -> bool:
        """Whether a run of that name already exists."""
        return self._replaced is not None

    def publish(self) -> None:
        """Put the run in its place; the previous run is removed once this is on the disk."""
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
    """Claim the right to build a run of this name, with a new folder beside its place.

    The folder is removed at the end unless it was published.
    """
    refuse_existing(path, overwrite)
    if path.is_symlink():
        path = Path(os.path.realpath(path))  # replace the folder, not a link to it
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
    refuse_existing(path, overwrite)  # again, now that no other process can create it
    replaced = None
    if os.path.isdir(path) and os.listdir(path):
        replaced = lock_folder(path)
        held.callback(replaced.release)
    _sweep(path)
    folder = path.with_name(f".{path.name}.{os.getpid()}.partial")
    folder.mkdir()
    held.callback(shutil.rmtree, folder, ignore_errors=True)  # whatever has that name by then
    lock = lock_folder(folder)
    held.callback(lock.release)
    return Claim(path, folder, lock, replaced)


def cannot_write(path: Path, error: OSError, needed: int = 0) -> ElmanError:
    """The one-line error for a failed write; `needed`: bytes, if known."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        room = f"about {needed / 1e6:,.1f} MB are needed. " if needed else ""
        return DiskFull(f"{path}: the disk is full; {room}Everything saved before is intact")
    return _choose_another(f"{path}: cannot be written ({error.strerror})")


def _choose_another(problem: str, *, or_overwrite: bool = False) -> InputError:
    """A refusal of a path, with the remedy on the command line and in Python."""
    return InputError(
        f"{problem}; choose another --out" + " or add --overwrite" * or_overwrite,
        in_python=f"{problem}; choose another path" + " or set overwrite=True" * or_overwrite,
    )


def refuse_existing(path: Path, overwrite: bool) -> None:
    """Refuse a name that is taken, unless overwriting is requested."""
    if path.name in ("", ".."):
        problem = f"{path}: name a separate folder for the run, as in"
        raise InputError(f"{problem} --out runs/mine", in_python=f"{problem} runs/mine")
        # os.path, unlike Path.exists, accepts names that are too long for a file.
    try:
        if not os.path.lexists(path) or (os.path.isdir(path) and not os.listdir(path)):
            return
    except OSError as error:
        raise _choose_another(f"{path}: cannot be read ({error.strerror})") from None
    if not overwrite:
        raise _choose_another(f"{path}: exists already", or_overwrite=True)
    if not (path / MANIFEST).exists():
        raise InputError(f"{path}: is not an elman run, so it is not overwritten")
    if is_being_trained(path):
        raise _choose_another(
            f"{path}: is being trained by another process, so it is not overwritten"
        )


def recover(path: Path) -> bool:
    """Restore a run whose replacement was interrupted; False if that is not possible now.

    For a reader who finds no run where one was: either it is being overwritten right now, or the
    process that did so was killed between two renames.
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
    """The previous runs of this name that were moved aside, if any."""
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
        problem = f"{path}: is being written by another process; wait for it or choose another"
        raise InputError(f"{problem} --out", in_python=f"{problem} path")
    return lock


def _beside(path: Path) -> list[Path]:
    """The folders that writers of this name created beside it."""
    ours = re.compile(rf"\.{re.escape(path.name)}\.\d+\.(partial|old)")
    try:
        names = sorted(os.listdir(path.parent))
    except OSError:
        return []
    return [path.with_name(name) for name in names if ours.fullmatch(name)]


def _sweep(path: Path) -> None:
    """Remove the leftovers of killed processes; never the folder of a running process, and never
    the only copy of a run.
    """
    for folder in _beside(path):
        needed = folder.name.endswith(".old") and not (path / MANIFEST).exists()
        if not needed and not _in_use(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _in_use(folder: Path) -> bool:
    """Whether a running process uses a folder: it holds the lock or, before that, the name."""
    if (folder / LOCK).exists():
        return is_being_trained(folder)
    number = int(folder.name.split(".")[-2])
    if number == os.getpid():
        return False  # of a killed process that had the same process id
    if os.name == "nt":
        return True  # Windows cannot check a process without ending it
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def _rename_onto_nothing(folder: Path, path: Path) -> None:
    """Rename a folder to a free name, or over an empty folder: POSIX replaces no other."""
    try:
        folder.rename(path)
    except OSError as error:
        if not os.path.lexists(path):
            raise
        if os.name == "nt":  # where even an empty folder blocks the name
            with suppress(OSError):
                path.rmdir()
                folder.rename(path)
                return
        raise _choose_another(f"{path}: exists already", or_overwrite=True) from error


def _change_places(folder: Path, path: Path) -> Path:
    """Rename a folder over another one; return the new path of that other one."""
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
    """Create the parent folders of a path; return the new ones, the deepest first."""
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
    """Exchange two folders atomically; False, with nothing changed, if that is not possible."""
    rename = _renameat2()
    if rename is None:
        return False
    return rename(_HERE, os.fsencode(first), _HERE, os.fsencode(second), _EXCHANGE) == 0


@functools.cache
def _renameat2() -> Callable[..., int] | None:
    try:
        function = ctypes.CDLL(None).renameat2
    except (OSError, TypeError, AttributeError):  # not supported by this system
        return None
    name = (ctypes.c_int, ctypes.c_char_p)
    function.argtypes = [*name, *name, ctypes.c_uint]
    return function
