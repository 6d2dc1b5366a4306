"""Files that are there whole or not at all, whatever happens while they are written.

Takes a path, gives one beside it to write to. Called by whatever keeps something in a file that
must not be lost: run folders, ARPA files, results.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Where to write what takes the place of `path` once it is complete and on the disk.

    If that fails, the old file is as it was and nothing is left beside it. An OSError is handed on:
    the caller knows what to say.
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
    """Return when a file, or the names in a folder, would outlive a power failure."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
