"""The parts of a run as files: `.json` from data, `.safetensors` from arrays, the rest from text.

Takes and gives the contents of one file; the ending of its name says of which kind it is. Nothing
is pickled. Called by `folder.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from elman.atomic import flush
from elman.errors import InputError
from elman.runs.arrays import Shapes, read_array, read_arrays, read_shapes
from elman.runs.regular import parse_json, read_text

Content = dict[str, Any] | Mapping[str, np.ndarray] | str


def write_part(path: Path, content: Content) -> None:
    """Write a part; it is on the disk afterwards."""
    if path.suffix == ".safetensors":
        arrays = {name: np.asarray(array, order="C") for name, array in content.items()}  # type: ignore[union-attr]
        path.write_bytes(save(arrays))
    elif path.suffix == ".json":
        path.write_text(as_json(content), encoding="utf-8")
    else:
        path.write_text(str(content), encoding="utf-8")
    flush(path)


def read_part(path: Path) -> Any:
    """What was written, or an InputError."""
    with understood(path):
        if path.suffix == ".safetensors":
            return read_arrays(path)
        text = read_text(path)
        return parse_json(text) if path.suffix == ".json" else text


def part_shapes(path: Path) -> Shapes:
    """The shapes of the arrays in a part, without the arrays, or an InputError."""
    with understood(path):
        return read_shapes(path)


def part_array(path: Path, name: str) -> np.ndarray:
    """One of the arrays in a part, or an InputError."""
    with understood(path):
        return read_array(path, name)


@contextmanager
def understood(path: Path) -> Iterator[None]:
    """Tell in one line why a file cannot be read."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{path}: cannot be understood ({error})") from None


def size_of(name: str, content: Content) -> int:
    """About how many bytes a part takes."""
    if name.endswith(".safetensors"):
        return sum(array.nbytes for array in content.values())  # type: ignore[union-attr, misc]
    return len(as_json(content))


def as_json(data: Any) -> str:
    """Data as it is written in files of a run.

    A file name that is not UTF-8 has half characters (lone surrogates) for its odd bytes; these
    are written as escapes, `\\udcff`, and read back as they were.
    """
    text = json.dumps(data, ensure_ascii=False, indent=1) + "\n"
    return text.encode(errors="backslashreplace").decode()
