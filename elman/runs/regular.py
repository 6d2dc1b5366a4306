"""Files of a run folder are opened with care: regular ones only, and none without a bound.

A run folder may come from anybody. A FIFO or a device in it would never end; a file of a terabyte
takes no room on a disk if it is empty. What is larger than the bound is refused before it is read.

    ELMAN_MAX_JSON_MB       of a vocabulary (default 32); other JSON may have an eighth of it
    ELMAN_MAX_WEIGHTS_GB    of a part that holds arrays (default 16)
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

from elman.errors import InputError

_BOUNDS = {
    "ELMAN_MAX_JSON_MB": (32, 10**6),
    "ELMAN_MAX_WEIGHTS_GB": (16, 10**9),
}
_LONG = ("tokenizer", "vocabulary")
_DEEPEST = 50  # of JSON; ours needs less than ten
_NONBLOCK = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # a FIFO does not block us


def open_regular(path: Path) -> BinaryIO:
    """A regular file, opened for reading, and not larger than the bound; an OSError if it cannot
    be opened, an InputError if it is something else.
    """
    descriptor = os.open(path, os.O_RDONLY | _NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"{path}: is not a regular file, so it is not read")
        _refuse_large(path, status.st_size)
    except BaseException:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def _refuse_large(path: Path, size: int) -> None:
    name = "ELMAN_MAX_WEIGHTS_GB" if path.suffix == ".safetensors" else "ELMAN_MAX_JSON_MB"
    default, unit = _BOUNDS[name]
    try:
        most = float(os.environ.get(name, default))
    except ValueError:
        raise InputError(f"{name}={os.environ[name]!r}: must be a number") from None
    if path.suffix == ".json" and path.name.partition(".")[0] not in _LONG:
        most /= 8  # parsed, it may take 25 times as much
    if size > most * unit:
        raise InputError(
            f"{path}: has {size:,} bytes, more than {most:g} {name[-2:]}; if you trust the run, "
            f"raise the bound with the environment variable {name}"
        )


def read_text(path: Path) -> str:
    """The text in a regular file; an OSError or a ValueError if there is none."""
    with open_regular(path) as file:
        return file.read().decode("utf-8")


def parse_json(text: str) -> Any:
    """Data of bounded depth; a ValueError if it is not JSON."""
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    level = [data] if isinstance(data, dict | list) else []
    for _ in range(_DEEPEST):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
        if not level:
            return data
    raise ValueError("nested too deeply")
