"""Open files wherever they are: local, compressed, remote, or standard input.

Takes a location (a path, a glob, `-`, or an address like `s3://bucket/news.jsonl.zst`), gives its
bytes as a stream, decompressed; called by `reader.py` and `records.py`. Only regular files are
opened, so a command never waits for a pipe that nobody writes to. A small file that unpacks to an
enormous one is refused while it is read.
"""

from __future__ import annotations

import bz2
import glob
import gzip
import io
import lzma
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from elman.errors import InputError
from elman.extras import import_extra

STANDARD_INPUT = "-"
_REMOTE = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_ROTATED = re.compile(r"(\.\d+|-\d{8})+$")
_PATTERN = re.compile(r"[*?\[]")
# English text shrinks to a fifth; what shrinks to less than this is no text worth reading.
_LARGEST_RATIO = 200
_FIRST = 1 << 14  # bytes that show what a file is
_ALWAYS_FINE = 100_000_000  # bytes that any file may unpack to


def is_remote(location: str) -> bool:
    """Whether a location is an address rather than a path."""
    return _REMOTE.match(location) is not None


def bare_name(location: str) -> str:
    """The name of a file without the ending of its compression: `news.jsonl` of `news.jsonl.gz`."""
    stem, ending = os.path.splitext(location)
    return stem if ending.lower() in _UNPACKERS else location


def without_rotation(location: str) -> str:
    """The name of a log before its rotation: `app.log` of `app.log.2.gz`, `app.log-20261001`."""
    return _ROTATED.sub("", bare_name(location))


def is_compressed(location: str) -> bool:
    """Whether the ending of a file names a compression."""
    return bare_name(location) != location


def is_pattern(location: str) -> bool:
    """Whether a location has wildcards."""
    return _PATTERN.search(location) is not None


def compression_of(location: str) -> str:
    """The name of the compression of a file."""
    return _NAMES[os.path.splitext(location)[1].lower()]


def expand(location: str) -> list[str]:
    """The files of a glob, sorted by name; [] if the location is not a glob."""
    if not is_pattern(location) or (not is_remote(location) and os.path.exists(location)):
        return []
    if is_remote(location):
        system, path = _file_system(location)
        return sorted(system.unstrip_protocol(found) for found in system.glob(path))
    return sorted(name for name in glob.glob(location, recursive=True) if os.path.isfile(name))


def size_of(location: str) -> int | None:
    """The size of a file in bytes, as stored; None if it is unknown."""
    if location == STANDARD_INPUT:
        return None
    if is_remote(location):
        system, path = _file_system(location)
        size = system.info(path).get("size")
        return None if size is None else int(size)
    return os.stat(location).st_size


def state_of(location: str) -> list[Any] | None:
    """What changes when a file changes; None if it cannot be read again, like standard input."""
    if location == STANDARD_INPUT:
        return None
    if is_remote(location):
        system, path = _file_system(location)
        known = system.info(path)
        return [str(known.get(name)) for name in ("size", "mtime", "ETag", "LastModified")]
    found = os.stat(location)
    return [os.path.abspath(location), found.st_size, found.st_mtime_ns]


def first_text(location: str) -> str:
    """The first characters of a file, to see what it is; binary bytes are replaced."""
    with opened(location) as stream:
        return stream.read(_FIRST).decode("utf-8", "replace").lstrip("\ufeff")


@contextmanager
def opened(location: str) -> Iterator[BinaryIO]:
    """The content of a file as a stream of bytes, decompressed if its ending says so."""
    with _opened_raw(location) as raw:
        unpack = _UNPACKERS.get(os.path.splitext(location)[1].lower())
        if unpack is None:
            yield raw
            return
        counted = _Counted(raw)
        with _Unpacked(location, unpack(counted, location), counted) as stream:
            yield io.BufferedReader(stream, 1 << 20)


@contextmanager
def _opened_raw(location: str) -> Iterator[BinaryIO]:
    if location == STANDARD_INPUT:
        yield io.BytesIO(_standard_input(sys.stdin.buffer))
    elif is_remote(location):
        system, path = _file_system(location)
        with _named_errors(location), system.open(path, "rb") as file:
            yield file
    else:
        with _open_local(location) as file:
            yield file


@lru_cache(maxsize=1)
def _standard_input(stream: Any) -> bytes:
    """Everything from standard input; a command that reads its data twice needs it twice."""
    return bytes(stream.read())


def _open_local(location: str) -> BinaryIO:
    """Open a regular file; the kind is checked on the open file, which cannot be exchanged."""
    with _named_errors(location):
        # Without O_NONBLOCK, opening a pipe waits for somebody who writes to it.
        number = os.open(location, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        file = os.fdopen(number, "rb")
    mode = os.fstat(file.fileno()).st_mode
    if not stat.S_ISREG(mode):
        file.close()
        if stat.S_ISDIR(mode):
            raise InputError(f"{location}: is a folder; give a file")
        raise InputError(
            f"{location}: is not a regular file; to read from a pipe, give - and pipe the text in"
        )
    return file


@contextmanager
def _named_errors(location: str) -> Iterator[None]:
    """Turn errors of the operating system into one line with the name of the file."""
    try:
        yield
    except IsADirectoryError:
        raise InputError(f"{location}: is a folder; give a file") from None
    except FileNotFoundError:
        raise InputError(f"{location}: no such file") from None
    except PermissionError:
        raise InputError(f"{location}: permission denied; try chmod u+r {location}") from None
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        raise InputError(f"{location}: cannot be read ({reason})") from None


def _file_system(location: str) -> tuple[Any, str]:
    """The fsspec file system of an address, and the path in it."""
    fsspec = import_extra("fsspec", f"{location}: addresses need fsspec")
    try:
        return fsspec.core.url_to_fs(location)
    except (ImportError, ValueError) as error:
        raise InputError(f"{location}: cannot be opened ({error})") from None


# Decompression ------------------------------------------------------------------------------------


class _Counted(io.RawIOBase):
    """A stream that counts the bytes read from it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.count = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.count += len(data)
        return data

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _Unpacked(io.RawIOBase):
    """A decompressed stream: errors name the file, and absurd sizes are refused."""

    def __init__(self, location: str, stream: Any, packed: _Counted) -> None:
        self._location = location
        self._stream = stream
        self._packed = packed
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._stream.read(len(buffer))
        except _damages() as error:
            ending = os.path.splitext(self._location)[1]
            raise InputError(
                f"{self._location}: ends in {ending} but is not a complete "
                f"{_NAMES[ending.lower()]} file ({error}); rename it if it is plain text, "
                "or download it again"
            ) from None
        self._count += len(data)
        if self._count > max(_ALWAYS_FINE, _LARGEST_RATIO * self._packed.count):
            raise InputError(
                f"{self._location}: {self._packed.count:,} bytes unpack to more than "
                f"{self._count:,}; text never shrinks that much. If you trust the file, "
                "decompress it yourself"
            )
        buffer[: len(data)] = data
        return len(data)


def _damages() -> tuple[type[Exception], ...]:
    """The errors of damaged files; a missing library has none."""
    errors: list[type[Exception]] = [EOFError, zlib.error, lzma.LZMAError, OSError]
    if "zstandard" in sys.modules:
        errors.append(sys.modules["zstandard"].ZstdError)
    return tuple(errors)


def _zstandard(file: Any, location: str) -> Any:
    zstandard = import_extra("zstandard", f"{location}: Zstandard files need zstandard")
    return _ZstandardFrames(file, zstandard.ZstdDecompressor())


class _ZstandardFrames:
    """The frames of a Zstandard file.

    The stream reader of the library takes a file that was cut off for a complete one.
    """

    _PIECE = 1024  # bytes at a time; the largest piece that they can unpack to is some 30 MB

    def __init__(self, file: Any, library: Any) -> None:
        self._file = file
        self._library = library
        self._frame: Any = None
        self._ready = bytearray()

    def read(self, size: int) -> bytes:
        while len(self._ready) < size and self._read_piece():
            pass
        data = bytes(self._ready[:size])
        del self._ready[:size]
        return data

    def _read_piece(self) -> bool:
        piece = self._file.read(self._PIECE)
        if not piece and self._frame is not None:
            raise EOFError("it ends in the middle")
        rest = piece
        while rest:
            self._frame = self._frame or self._library.decompressobj()
            self._ready += self._frame.decompress(rest)
            rest = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame = None
        return bool(piece)


_UNPACKERS: dict[str, Callable[[Any, str], Any]] = {
    ".gz": lambda file, _: gzip.GzipFile(fileobj=file),
    ".bz2": lambda file, _: bz2.BZ2File(file),
    ".xz": lambda file, _: lzma.LZMAFile(file),  # noqa: SIM115
    ".zst": _zstandard,
}
_NAMES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "Zstandard"}


def local_files(folder: Path) -> list[Path]:
    """The files of a folder that may hold data, sorted by name."""
    return sorted(
        path
        for path in folder.iterdir()
        if path.is_file() and not path.name.startswith((".", "README"))
    )
