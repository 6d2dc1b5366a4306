"""The parts of a run as files: `.json` from data, `.safetensors` from arrays, the rest from text.

Reads and writes the contents of one file; the file extension decides the format. Nothing is
pickled. Called by `folder.py`.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from elman.atomic import flush
from elman.errors import InputError
from elman.mapping import forget

_BOUNDS = {
    "ELMAN_MAX_JSON_MB": (32, 10**6),
    "ELMAN_MAX_WEIGHTS_GB": (16, 10**9),
}
_LONG = ("tokenizer", "vocabulary")
_WRITTEN = 1 << 22  # numbers that are written at a time
_DEEPEST = 50  # nesting of JSON; elman's files need less than ten
_NONBLOCK = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # do not block on a FIFO


def open_regular(path: Path) -> BinaryIO:
    """Open a file of a run folder for reading: a regular file, not larger than the bound.

    A run folder may come from anybody. A FIFO or a device in it would never end; a sparse file of a
    terabyte takes no space on the disk. Larger files are refused before they are read.

        ELMAN_MAX_JSON_MB       size of a vocabulary (default 32); an eighth of it for other JSON
        ELMAN_MAX_WEIGHTS_GB    size of a part with arrays (default 16)

    Raises an OSError if it cannot be opened, an InputError if it is refused.
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
            f"raise the limit with the environment variable {name}"
        )


def read_text(path: Path) -> str:
    """The text of a regular file; raises an OSError or a ValueError."""
    with open_regular(path) as file:
        return file.read().decode("utf-8")


def parse_json(text: str) -> Any:
    """Parse JSON of bounded depth; raises a ValueError if it is not JSON."""
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


Shapes = dict[str, tuple[int, ...]]
_LONGEST_HEADER = 10_000_000  # bytes; a name and a shape take about 120
_TYPES = {  # in the order of a file: the widest first, so that arrays are aligned
    "U64": np.uint64, "I64": np.int64, "F64": np.float64,
    "F32": np.float32, "U32": np.uint32, "I32": np.int32,
    "F16": np.float16, "U16": np.uint16, "I16": np.int16,
    "I8": np.int8, "U8": np.uint8, "BOOL": np.bool_,
}  # fmt: skip


@dataclass(frozen=True)
class _Entry:
    kind: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int  # from the beginning of the file
    size: int  # bytes


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read all arrays of a safetensors file; everything is checked before memory is allocated.

        8 bytes     the length of the header, little-endian
        header      JSON: name → dtype, shape, where its numbers begin and end
        numbers     one array after the other, without gaps

    The reader of the library panics when memory runs out; this one raises MemoryError. A malformed
    file is a ValueError.
    """
    with open_regular(path) as file:
        return {name: _read(file, entry) for name, entry in _entries(file).items()}


class MappedArrays(dict[str, np.ndarray]):
    """The arrays of a file that stays on disk: read as they are used, shared between processes, and
    not writable. Only the header was checked.
    """


def map_arrays(path: Path) -> MappedArrays:
    """Map all arrays of a safetensors file into memory; only its header is read."""
    with open_regular(path) as file:
        entries = _entries(file)
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return MappedArrays(
        {
            name: np.frombuffer(
                memory, entry.kind, count=math.prod(entry.shape), offset=entry.begin
            ).reshape(entry.shape)
            for name, entry in entries.items()
        }
    )


def _entries(file: BinaryIO) -> dict[str, _Entry]:
    """The position of every array in a file; raises a ValueError if they do not fill it exactly."""
    size = os.fstat(file.fileno()).st_size
    length = int.from_bytes(file.read(8), "little")
    if length > min(_LONGEST_HEADER, size - 8):
        raise ValueError(f"the header claims {length:,} bytes in a file of {size:,}")
    header = parse_json(file.read(length).decode("utf-8"))
    if not isinstance(header, dict):
        raise ValueError("the header is not a table of arrays")
    header.pop("__metadata__", None)
    found = {name: _entry(name, written, 8 + length) for name, written in header.items()}
    end = 8 + length
    for entry in sorted(found.values(), key=lambda entry: (entry.begin, entry.size)):
        if entry.begin != end:
            raise ValueError("the arrays overlap, or there are gaps between them")
        end += entry.size
    if end != size:
        raise ValueError(f"the arrays end after {end:,} bytes, the file after {size:,}")
    return found


def _entry(name: str, written: Any, start: int) -> _Entry:
    kind, shape, offsets = (written[key] for key in ("dtype", "shape", "data_offsets"))
    if kind not in _TYPES:
        raise ValueError(f"{name} has numbers of the unknown type {kind!r}")
    numbers = [*shape, *offsets]
    if len(offsets) != 2 or any(type(n) is not int or not 0 <= n < 2**60 for n in numbers):
        raise ValueError(f"{name} has no valid shape or position in the file")
    kept = np.dtype(_TYPES[kind])
    size = math.prod(shape) * kept.itemsize
    if offsets[1] - offsets[0] != size:
        raise ValueError(f"{name} of shape {tuple(shape)} takes {size:,} bytes")
    return _Entry(kept, tuple(shape), start + offsets[0], size)


def _read(file: BinaryIO, entry: _Entry) -> np.ndarray:
    array = np.empty(math.prod(entry.shape), entry.kind)
    file.seek(entry.begin)
    if entry.size and file.readinto(array.view(np.uint8)) != entry.size:  # type: ignore[attr-defined]
        raise ValueError("the file was shortened during the reading")
    return array.reshape(entry.shape)


Content = dict[str, Any] | Mapping[str, np.ndarray] | str


def write_part(path: Path, content: Content) -> None:
    """Write a part and flush it to disk."""
    if path.suffix == ".safetensors":
        _write_arrays(path, content)  # type: ignore[arg-type]
    elif path.suffix == ".json":
        path.write_text(as_json(content), encoding="utf-8")
    else:
        path.write_text(str(content), encoding="utf-8")
    flush(path)


def _write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write the same bytes as the safetensors library, without a copy in memory."""
    kinds = {np.dtype(kind): (place, name) for place, (name, kind) in enumerate(_TYPES.items())}
    found = [(*kinds[array.dtype], name, array) for name, array in arrays.items()]
    found.sort(key=lambda entry: entry[:3])
    header, end = {}, 0
    for _, kind, name, array in found:
        begin, end = end, end + array.nbytes
        header[name] = {"dtype": kind, "shape": array.shape, "data_offsets": [begin, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for *_, array in found:
            flat = np.ascontiguousarray(array).reshape(-1)
            for begin in range(0, len(flat), _WRITTEN):
                file.write(flat[begin : begin + _WRITTEN].data)
                forget(array)


def read_part(path: Path) -> Any:
    """Read a part back, or raise an InputError."""
    with understood(path):
        if path.suffix == ".safetensors":
            return read_arrays(path)
        text = read_text(path)
        return parse_json(text) if path.suffix == ".json" else text


def map_part(path: Path) -> MappedArrays:
    """Map the arrays of a part, or raise an InputError."""
    with understood(path):
        return map_arrays(path)


def part_shapes(path: Path) -> Shapes:
    """The shapes of the arrays in a part, without reading the arrays, or an InputError."""
    with understood(path), open_regular(path) as file:
        return {name: entry.shape for name, entry in _entries(file).items()}


def part_array(path: Path, name: str) -> np.ndarray:
    """One of the arrays in a part, or an InputError."""
    with understood(path), open_regular(path) as file:
        return _read(file, _entries(file)[name])


@contextmanager
def understood(path: Path) -> Iterator[None]:
    """Turn read errors into one-line errors."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{path}: cannot be parsed ({error})") from None


def size_of(name: str, content: Content) -> int:
    """The approximate size of a part in bytes."""
    if name.endswith(".safetensors"):
        return sum(array.nbytes for array in content.values())  # type: ignore[union-attr, misc]
    return len(as_json(content))


def as_json(data: Any) -> str:
    """Data as JSON text for the files of a run.

    A file name that is not UTF-8 has half characters (lone surrogates) for its invalid bytes. They
    are written as escapes, `\\udcff`, and read back unchanged.
    """
    text = json.dumps(data, ensure_ascii=False, indent=1) + "\n"
    return text.encode(errors="backslashreplace").decode()
