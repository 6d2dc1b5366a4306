"""The entry points of installed packages that extend elman.

Takes a group such as "elman.cells", gives its entry points; called by `registry.py`. Importing
`importlib.metadata` and reading all packages takes a third of the time of `elman --help`, and few
environments have such a package. So this happens only if a package on the path mentions the group.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any

_FOLDERS = (".dist-info", ".egg-info")


def entry_points_of(group: str) -> Iterable[Any]:
    """The entry points of a group (`importlib.metadata.EntryPoint`) in all packages on the path."""
    return _entry_points(group, tuple(sys.path))


@cache
def _entry_points(group: str, path: tuple[str, ...]) -> Iterable[Any]:
    if not any(_may_have(place or os.curdir, group.encode()) for place in path):
        return ()
    from importlib.metadata import entry_points  # slow: see above

    return entry_points(group=group)


def _may_have(place: str, group: bytes) -> bool:
    """Whether a package in this folder mentions the group; True for other forms of packages."""
    try:
        names = os.listdir(place)
    except NotADirectoryError:
        return True  # a zip file
    except OSError:
        return False
    return any(
        name.endswith(".egg")
        or (name.endswith(_FOLDERS) and group in _content(os.path.join(place, name)))
        for name in names
    )


def _content(folder: str) -> bytes:
    try:
        with open(os.path.join(folder, "entry_points.txt"), "rb") as file:
            return file.read()
    except OSError:
        return b""
