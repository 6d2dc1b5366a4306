"""Write files atomically: a file is complete or absent, even after a crash.

Takes a path, gives a temporary path beside it to write to. Used for everything that must not be
lost: run folders, ARPA files, results.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path to write to; the file replaces `path` once it is complete and on the disk.

    If writing fails, the old file stays unchanged and the temporary file is removed. An OSError is
    passed on to the caller.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield temporary
        flush(temporary)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def flush(path: Path) -> None:
    """Flush a file, or the names in a folder, to disk so that they survive a power failure."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
