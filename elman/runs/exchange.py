"""Two folders change names in one stroke, where the system can do that (Linux)."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from pathlib import Path

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
    found: Callable[..., int] = function
    return found
