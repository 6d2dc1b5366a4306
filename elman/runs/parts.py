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
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save

from elman.atomic import flush
from elman.errors import InputError
from elman.runs.regular import open_regular, parse_json, read_text

Shapes = dict[str, tuple[int, ...]]
_LONGEST_HEADER = 10_000_000  # bytes; a name and a shape take some 120

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
            read_shapes(path)
            return load_file(path)
        text = read_text(path)
        return parse_json(text) if path.suffix == ".json" else text


def read_shapes(path: Path) -> Shapes:
    """The shapes of the arrays in a file, without the arrays, or an InputError."""
    with understood(path):
        with open_regular(path) as file:
            length = int.from_bytes(file.read(8), "little")
        if length > _LONGEST_HEADER:
            raise ValueError(f"a header of {length:,} bytes")
        with safe_open(path, "numpy") as arrays:
            return {name: tuple(arrays.get_slice(name).get_shape()) for name in arrays.keys()}  # noqa: SIM118


def read_array(path: Path, name: str) -> np.ndarray:
    """One of the arrays in a file."""
    with understood(path), safe_open(path, "numpy") as arrays:
        found: np.ndarray = arrays.get_tensor(name)
        return found


@contextmanager
def understood(path: Path) -> Iterator[None]:
    """Tell in one line why a file cannot be read."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    # A type that numpy has not is a TypeError or an AttributeError, depending on the type.
    except (SafetensorError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise InputError(f"{path}: cannot be understood ({error})") from None
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # of safetensors, when memory ends
            raise MemoryError from None
        raise


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
